// The artifact: a zip whose entries are stored as they are, mapped or in memory, with a checksum as its comment.
#pragma once

#include <cstdint>
#include <memory>
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

    // Of a file. Throws `ArtifactError`.
    explicit Container(const std::string& path);
    // Of bytes that outlive this. Throws `ArtifactError`.
    explicit Container(std::string_view bytes);

    // Throws `ArtifactError` if the checksum is not that of the bytes. It reads the whole file.
    void check_sum() const;

    std::string_view bytes() const { return bytes_; }
    bool has(const std::string& name) const { return entries_.count(name) != 0; }
    // Throws `ArtifactError` where there is no entry of that name.
    const Entry& entry(const std::string& name) const;
    std::string_view read(const std::string& name) const;
    const std::unordered_map<std::string, Entry>& entries() const { return entries_; }

  private:
    void read_table();

    std::unique_ptr<const MappedFile> file_;  // none of bytes in memory
    std::string_view bytes_;
    std::unordered_map<std::string, Entry> entries_;
};

}  // namespace intarsia
