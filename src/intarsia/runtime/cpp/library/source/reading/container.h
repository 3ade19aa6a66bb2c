// The artifact's file: a zip whose entries are stored as they are, mapped, with a checksum as its comment.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>

namespace intarsia {

// A file mapped for reading, as long as this lives.
class MappedFile {
  public:
    explicit MappedFile(const std::string& path);
    ~MappedFile();
    MappedFile(const MappedFile&) = delete;
    MappedFile& operator=(const MappedFile&) = delete;

    const char* data() const { return data_; }
    std::size_t size() const { return size_; }
    std::string_view bytes() const { return {data_, size_}; }

  private:
    const char* data_ = nullptr;
    std::size_t size_ = 0;
};

// The entries of an artifact. What the table of entries says was checked against the file when this was made.
class Container {
  public:
    struct Entry {
        std::size_t start;
        std::size_t size;
    };

    // Throws `ArtifactError`.
    explicit Container(const std::string& path);

    // Throws `ArtifactError` if the checksum is not that of the bytes. It reads the whole file.
    void check_sum() const;

    const MappedFile& file() const { return file_; }
    bool has(const std::string& name) const { return entries_.count(name) != 0; }
    // Throws `ArtifactError` where there is no entry of that name.
    const Entry& entry(const std::string& name) const;
    std::string_view read(const std::string& name) const;
    const std::unordered_map<std::string, Entry>& entries() const { return entries_; }

  private:
    MappedFile file_;
    std::unordered_map<std::string, Entry> entries_;
};

}  // namespace intarsia
