#include "engines/openvino_text.h"

#include <cstdint>
#include <optional>

#include "error.h"

namespace intarsia {
namespace {

bool is_space(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }

[[noreturn]] void refuse(const char* what) { throw ArtifactError(std::string("its model for openvino ") + what); }

// Digits alone, as they are written: no sign, no reference to a character.
std::uint64_t number(std::string_view text) {
    std::uint64_t value = 0;
    for (const char c : text) {
        if (c < '0' || c > '9') {
            refuse("has a constant at no number");
        }
        value = value * 10 + static_cast<std::uint64_t>(c - '0');
    }
    return text.empty() || text.size() > 18 ? (refuse("has a constant at no number"), 0) : value;
}

// One tag after the other, with the attributes that are asked for.
class Tags {
  public:
    explicit Tags(std::string_view text) : text_(text) {}

    // Moves into the next tag; false at the end. Its name is at `name`.
    bool next() {
        place_ = text_.find('<', place_);
        if (place_ == std::string_view::npos) {
            return false;
        }
        const std::size_t start = ++place_;
        while (place_ < text_.size() && !is_space(peek()) && peek() != '>') {
            ++place_;
        }
        name = text_.substr(start, place_ - start);
        if (!name.empty() && name[0] == '!') {
            refuse("holds what OpenVINO does not write: a comment, or a declaration");
        }
        return true;
    }

    // The next attribute of the tag; false at its end.
    bool attribute(std::string_view& own, std::string_view& value) {
        while (place_ < text_.size() && (is_space(peek()) || peek() == '/' || peek() == '?')) {
            ++place_;
        }
        if (place_ >= text_.size() || peek() == '>') {
            return false;
        }
        const std::size_t start = place_;
        const std::size_t equals = text_.find('=', place_);
        if (equals == std::string_view::npos || equals + 1 >= text_.size()) {
            refuse("is cut short");
        }
        own = text_.substr(start, equals - start);
        const char quote = text_[equals + 1];
        const std::size_t end = quote == '"' || quote == '\'' ? text_.find(quote, equals + 2) : std::string_view::npos;
        if (end == std::string_view::npos) {
            refuse("is cut short");
        }
        value = text_.substr(equals + 2, end - equals - 2);
        place_ = end + 1;
        return true;
    }

    std::string_view name;

  private:
    char peek() const { return text_[place_]; }

    std::string_view text_;
    std::size_t place_ = 0;
};

}  // namespace

void check_constants(std::string_view text, std::size_t file_bytes) {
    for (Tags tags(text); tags.next();) {
        std::optional<std::string_view> offset, size;
        for (std::string_view name, value; tags.attribute(name, value);) {
            auto* const kept = name == "offset" ? &offset : name == "size" ? &size : nullptr;
            if (kept != nullptr && kept->has_value()) {
                refuse("says one thing twice");
            }
            if (kept != nullptr) {
                *kept = value;
            }
            // A name with anything in it that is not of one could be read as another.
            if (name.empty() || name.find_first_of(" \t\n\r<>\"'/&") != std::string_view::npos) {
                refuse("is not written as OpenVINO writes it");
            }
        }
        if (offset.has_value() && size.has_value()) {
            const std::uint64_t start = number(*offset), bytes = number(*size);
            if (start > file_bytes || bytes > file_bytes - start) {
                refuse("has a constant that is not inside the artifact");
            }
        }
    }
}

}  // namespace intarsia
