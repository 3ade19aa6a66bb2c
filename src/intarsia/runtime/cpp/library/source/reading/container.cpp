// Of a zip only what an artifact has of it is read: the end record, the table of entries, local headers (APPNOTE.TXT of
// PKWARE, 4.3.7, 4.3.12 to 4.3.16, 4.5.3). What is compressed, encrypted, overlapping or twice there is refused.
#include "reading/container.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <vector>

#include "error.h"
#include "reading/xxh3.h"

namespace intarsia {
namespace {

constexpr std::string_view kPrefix = "intarsia xxh3_128 ";
constexpr std::size_t kDigest = 32;
constexpr std::size_t kComment = kPrefix.size() + kDigest;
constexpr std::size_t kEnd = 22, kEnd64 = 56, kLocator64 = 20, kCentral = 46, kLocal = 30;
constexpr std::uint32_t kSmall = 0xFFFFFFFF;  // stands for: see the extra field
constexpr const char* kNone = "not an Intarsia artifact";

// Numbers of the file, little-endian, each read inside its bounds.
class Cursor {
  public:
    explicit Cursor(std::string_view bytes) : bytes_(bytes) {}

    std::uint64_t at(std::size_t place, std::size_t size) const {
        if (place > bytes_.size() || bytes_.size() - place < size) {
            throw ArtifactError(std::string(kNone) + ": its table of entries is cut short");
        }
        std::uint64_t value = 0;
        for (std::size_t byte = size; byte-- > 0;) {
            value = value << 8 | static_cast<unsigned char>(bytes_[place + byte]);
        }
        return value;
    }

    std::string_view text(std::size_t place, std::size_t size) const {
        if (place > bytes_.size() || bytes_.size() - place < size) {
            throw ArtifactError(std::string(kNone) + ": its table of entries is cut short");
        }
        return bytes_.substr(place, size);
    }

  private:
    std::string_view bytes_;
};

[[noreturn]] void damaged(const std::string& why) { throw ArtifactError(std::string(kNone) + ": " + why); }

// Whether a name is a relative path of nothing but printable names.
bool is_plain(std::string_view name) {
    std::size_t start = 0;
    for (std::size_t place = 0; place <= name.size(); ++place) {
        if (place == name.size() || name[place] == '/') {
            const std::string_view part = name.substr(start, place - start);
            if (part.empty() || part == "." || part == "..") {
                return false;
            }
            start = place + 1;
        } else if (static_cast<unsigned char>(name[place]) < 0x20 || name[place] == 0x7f || name[place] == '\\') {
            return false;
        }
    }
    return true;
}

struct Table {
    std::uint64_t start;
    std::uint64_t count;
    std::uint64_t end;
};

Table table_of(const Cursor& file, std::size_t size) {
    if (size < kEnd + kComment) {
        damaged("it is too short");
    }
    const std::size_t end = size - kEnd - kComment;
    if (file.at(end, 4) != 0x06054b50 || file.at(end + 20, 2) != kComment) {
        damaged("it has no table of entries");
    }
    Table found{file.at(end + 16, 4), file.at(end + 10, 2), end};
    std::uint64_t bytes = file.at(end + 12, 4);
    if (end >= kLocator64 && file.at(end - kLocator64, 4) == 0x07064b50) {
        const std::uint64_t place = file.at(end - kLocator64 + 8, 8);
        if (end < kLocator64 + kEnd64 || place != end - kLocator64 - kEnd64 || file.at(place, 4) != 0x06064b50) {
            damaged("its table of entries is elsewhere");
        }
        found = {file.at(place + 48, 8), file.at(place + 32, 8), place};
        bytes = file.at(place + 40, 8);
    }
    if (found.start > found.end || found.end - found.start != bytes) {
        damaged("its table of entries is elsewhere");
    }
    return found;
}

// The numbers that stand in the extra field, as they do not fit into the header: sizes first, then the offset.
void widen(std::string_view extra, std::uint64_t& size, std::uint64_t& packed, std::uint64_t& offset) {
    const Cursor field(extra);
    for (std::size_t place = 0; place + 4 <= extra.size();) {
        const std::size_t length = field.at(place + 2, 2);
        if (field.at(place, 2) == 1) {
            std::size_t next = place + 4;
            for (std::uint64_t* number : {&size, &packed, &offset}) {
                if (*number == kSmall) {
                    *number = field.at(next, 8);
                    next += 8;
                }
            }
            return;
        }
        place += 4 + length;
    }
}

}  // namespace

MappedFile::MappedFile(const std::string& path) {
    // Opening a pipe would wait for whoever writes to it.
    const int file = ::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    if (file < 0) {
        throw ArtifactError(errno == ENOENT ? "no such artifact" : std::string("cannot be read: ") + strerror(errno));
    }
    struct stat facts {};
    const bool is_file = ::fstat(file, &facts) == 0 && S_ISREG(facts.st_mode) && facts.st_size > 0;
    void* mapped = MAP_FAILED;
    if (is_file) {
        size_ = static_cast<std::size_t>(facts.st_size);
        mapped = ::mmap(nullptr, size_, PROT_READ, MAP_PRIVATE, file, 0);
    }
    ::close(file);
    if (mapped == MAP_FAILED) {
        throw ArtifactError(is_file ? "cannot be mapped" : "not a file with anything in it, so no artifact");
    }
    data_ = static_cast<const char*>(mapped);
}

MappedFile::~MappedFile() { ::munmap(const_cast<char*>(data_), size_); }

Container::Container(const std::string& path) : file_(new MappedFile(path)), bytes_(file_->bytes()) {
    read_table();
}

Container::Container(std::string_view bytes) : bytes_(bytes) { read_table(); }

void Container::read_table() {
    const std::string_view bytes = bytes_;
    if (bytes.size() < kLeastHashed + kDigest || bytes.substr(bytes.size() - kComment, kPrefix.size()) != kPrefix) {
        throw ArtifactError(bytes[0] == '\x08' ? "an ONNX model, not an artifact; compile it first: intarsia compile"
                                               : std::string(kNone) + ", or one cut short");
    }
    const Cursor file(bytes);
    const Table table = table_of(file, bytes.size());
    std::vector<std::pair<std::size_t, std::size_t>> spans;
    std::uint64_t place = table.start;
    for (std::uint64_t number = 0; number < table.count; ++number) {
        if (file.at(place, 4) != 0x02014b50) {
            damaged("its table of entries is broken");
        }
        const std::size_t name_size = file.at(place + 28, 2), extra_size = file.at(place + 30, 2);
        const std::string name(file.text(place + kCentral, name_size));
        std::uint64_t packed = file.at(place + 20, 4), size = file.at(place + 24, 4), offset = file.at(place + 42, 4);
        widen(file.text(place + kCentral + name_size, extra_size), size, packed, offset);
        if (!is_plain(name)) {
            damaged("its entry " + shown(name) + " is no name of a file");
        }
        if ((file.at(place + 8, 2) & 1) != 0 || file.at(place + 10, 2) != 0 || packed != size) {
            damaged("its entry " + shown(name) + " is compressed or encrypted");
        }
        if (offset > table.start || table.start - offset < kLocal || file.at(offset, 4) != 0x04034b50) {
            damaged("its entry " + shown(name) + " lies outside of it");
        }
        const std::size_t own = file.at(offset + 26, 2);
        const std::uint64_t start = offset + kLocal + own + file.at(offset + 28, 2);
        if (file.text(offset + kLocal, own) != name) {
            damaged("its entry " + shown(name) + " has another name where it lies");
        }
        if (start > table.start || size > table.start - start) {
            damaged("its entry " + shown(name) + " is longer than it");
        }
        if (!entries_.emplace(name, Entry{start, size}).second) {
            damaged("two of its entries have one name");
        }
        spans.emplace_back(start, size);
        place += kCentral + name_size + extra_size + file.at(place + 32, 2);
    }
    if (place != table.end) {
        damaged("its table of entries has another length");
    }
    std::sort(spans.begin(), spans.end());
    std::size_t end = 0;
    for (const auto& [start, size] : spans) {
        if (start < end) {
            damaged("two of its entries overlap");
        }
        end = start + size;
    }
}

void Container::check_sum() const {
    const std::string_view bytes = bytes_;
    if (xxh3_128(bytes.data(), bytes.size() - kDigest) != bytes.substr(bytes.size() - kDigest)) {
        throw ArtifactError("damaged, its checksum does not match; copy it again or compile the model anew");
    }
}

const Container::Entry& Container::entry(const std::string& name) const {
    const auto found = entries_.find(name);
    if (found == entries_.end()) {
        throw ArtifactError(std::string(kNone) + ": it has no " + shown(name));
    }
    return found->second;
}

std::string_view Container::read(const std::string& name) const {
    const Entry& found = entry(name);
    return bytes_.substr(found.start, found.size);
}

}  // namespace intarsia
