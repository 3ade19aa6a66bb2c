// JSON as RFC 8259 has it, and nothing beside: no comments, no name twice, depth and size bounded.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace intarsia {

class Json {
  public:
    enum class Kind { kNull, kBool, kInteger, kReal, kText, kList, kObject };
    using Members = std::vector<std::pair<std::string, Json>>;

    // Throws `ArtifactError` with the offset of what is wrong.
    static Json parse(std::string_view text);

    Kind kind() const { return kind_; }
    bool is_null() const { return kind_ == Kind::kNull; }

    // Each throws `ArtifactError` with the place `at`, as `$.steps[0].target`, where the value is of another kind.
    bool boolean(const std::string& at) const;
    std::int64_t integer(const std::string& at) const;
    double real(const std::string& at) const;
    const std::string& text(const std::string& at) const;
    const std::vector<Json>& list(const std::string& at) const;
    const Members& members(const std::string& at) const;

    // The member of an object; null if it has none of that name.
    const Json* find(std::string_view name) const;
    // As `find`, where it must be there.
    const Json& get(std::string_view name, const std::string& at) const;

  private:
    friend class JsonReader;
    Kind kind_ = Kind::kNull;
    bool boolean_ = false;
    std::int64_t integer_ = 0;
    double real_ = 0;
    std::string text_;
    std::vector<Json> list_;
    Members members_;
};

}  // namespace intarsia
