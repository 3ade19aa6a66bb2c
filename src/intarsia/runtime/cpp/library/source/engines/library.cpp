#include "engines/library.h"

#include <dirent.h>
#include <dlfcn.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <mutex>

#include "error.h"

#ifndef INTARSIA_BUILT_ENGINE_FOLDERS
#define INTARSIA_BUILT_ENGINE_FOLDERS ""
#endif

namespace intarsia {
namespace {

// Files of a folder whose name starts as a library's, the shortest first: `libx.so` before `libx.so.1.2`.
std::vector<std::string> matches(const std::string& folder, const std::string& name) {
    std::vector<std::string> found;
    DIR* const open = ::opendir(folder.c_str());
    if (open == nullptr) {
        return found;
    }
    while (const dirent* const each = ::readdir(open)) {
        const std::string_view file = each->d_name;
        if (file.substr(0, name.size()) == name && (file.size() == name.size() || file[name.size()] == '.')) {
            found.push_back(folder + "/" + std::string(file));
        }
    }
    ::closedir(open);
    std::sort(found.begin(), found.end(), [](const std::string& one, const std::string& other) {
        return one.size() != other.size() ? one.size() < other.size() : one < other;
    });
    return found;
}

std::string last_fault() {
    const char* const fault = ::dlerror();
    return fault == nullptr ? "no reason is given" : fault;
}

std::vector<std::string> parted(const char* text, const char* who) {
    std::vector<std::string> found;
    const std::string all = text == nullptr ? "" : text;
    for (std::size_t start = 0; start < all.size();) {
        const std::size_t end = std::min(all.find(':', start), all.size());
        const std::string folder = all.substr(start, end - start);
        if (!folder.empty() && folder[0] != '/') {
            throw Error(INTARSIA_BAD_ARGUMENT, std::string(who) + " names the folder " + shown(folder) +
                                                   ": give absolute paths, parted by ':'");
        }
        if (!folder.empty()) {
            found.push_back(folder);
        }
        start = end + 1;
    }
    return found;
}

// A file that has no name, with this content; -1 where there is no memory for it.
int in_memory(std::string_view content) {
    const int file = ::memfd_create("intarsia-code", MFD_CLOEXEC);
    for (std::size_t done = 0; file >= 0 && done < content.size();) {
        const ssize_t written = ::write(file, content.data() + done, content.size() - done);
        if (written < 0 && errno != EINTR) {
            ::close(file);
            return -1;
        }
        done += written > 0 ? static_cast<std::size_t>(written) : 0;
    }
    return file;
}

}  // namespace

Library::~Library() {
    if (!stays_) {
        ::dlclose(handle_);
    }
}

void* Library::symbol(const char* name) const { return ::dlsym(handle_, name); }

std::vector<std::string> engine_folders(const char* stated) {
    std::vector<std::string> found = parted(stated, "the option engine_folders");
    for (const std::string& folder : parted(std::getenv("INTARSIA_ENGINE_FOLDERS"), "INTARSIA_ENGINE_FOLDERS")) {
        found.push_back(folder);
    }
    for (const std::string& folder : parted(INTARSIA_BUILT_ENGINE_FOLDERS, "the build")) {
        found.push_back(folder);
    }
    return found;
}

std::shared_ptr<Library> Library::of_engine(const std::string& name, const std::string& variable,
                                            const std::vector<std::string>& folders, const std::string& fix) {
    std::vector<std::string> paths;
    const char* const stated = std::getenv(variable.c_str());
    if (stated != nullptr && *stated != '\0') {
        if (*stated != '/') {
            throw UnavailableError(variable + " names " + shown(stated) + ": give an absolute path");
        }
        paths = {stated};
    } else {
        for (const std::string& folder : folders) {
            for (const std::string& path : matches(folder, name)) {
                paths.push_back(path);
            }
        }
        paths.push_back(name);
    }
    std::string fault;
    for (const std::string& path : paths) {
        if (void* const handle = ::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL)) {
            return std::make_shared<Library>(handle, true);
        }
        fault = last_fault();
    }
    throw UnavailableError(name + " was not found (" + fault + "); " + fix + ", and name its folder in the option " +
                           "engine_folders or in INTARSIA_ENGINE_FOLDERS, or the file in " + variable);
}

std::shared_ptr<Library> Library::of_code(std::string_view content, const std::string& engine) {
    struct Known {
        std::string content;
        std::weak_ptr<Library> library;
    };
    static std::mutex mutex;
    static std::vector<Known>* const known = new std::vector<Known>;  // never freed: models may outlive statics
    const std::lock_guard<std::mutex> lock(mutex);
    known->erase(std::remove_if(known->begin(), known->end(), [](const Known& each) { return each.library.expired(); }),
                 known->end());
    for (const Known& each : *known) {
        if (auto open = each.library.lock(); open != nullptr && each.content == content) {
            return open;
        }
    }
    const int file = in_memory(content);
    if (file < 0) {
        throw LoadError(engine, std::string("no memory for its machine code: ") + std::strerror(errno));
    }
    // Through the process's number, as the loader tells two libraries apart by path, and file numbers are used again.
    const std::string path = "/proc/self/fd/" + std::to_string(file);
    void* const handle = ::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    const std::string fault = handle == nullptr ? last_fault() : "";
    if (handle == nullptr) {
        ::close(file);
        throw LoadError(engine, "its machine code cannot be mapped: " + fault);
    }
    // The descriptor stays open as long as the library: another file under its number would be taken for this one.
    std::shared_ptr<Library> library(new Library(handle, false), [file](Library* each) {
        delete each;
        ::close(file);
    });
    known->push_back({std::string(content), library});
    return library;
}

}  // namespace intarsia
