// Shared libraries: of engines, found by name in named folders, and of machine code that an artifact holds.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace intarsia {

// An open library; it is closed when this goes, unless it is to stay.
class Library {
  public:
    Library(const Library&) = delete;
    Library& operator=(const Library&) = delete;
    ~Library();

    // The library of an engine: the file that the variable names, one in a folder whose name starts as `name`, else
    // what the system's loader finds. It stays open as long as the process: its threads outlive every model. Throws
    // `UnavailableError`.
    static std::shared_ptr<Library> of_engine(const std::string& name, const std::string& variable,
                                              const std::vector<std::string>& folders, const std::string& fix);

    // Machine code from an artifact, by a file in memory, so that no path on disk can come to mean another file. The
    // same content is mapped once. Throws `LoadError` of the engine.
    static std::shared_ptr<Library> of_code(std::string_view content, const std::string& engine);

    // A function; null if there is none of that name.
    void* symbol(const char* name) const;
    template <typename Function>
    Function function(const char* name) const {
        return reinterpret_cast<Function>(symbol(name));
    }

    // A library that is open already; it stays so.
    Library(void* handle, bool stays) : handle_(handle), stays_(stays) {}

  private:
    void* handle_;
    bool stays_;
};

// The folders that engines are looked for in: those that are stated, INTARSIA_ENGINE_FOLDERS, those that the library
// was built with. Throws for one that is relative.
std::vector<std::string> engine_folders(const char* stated);

}  // namespace intarsia
