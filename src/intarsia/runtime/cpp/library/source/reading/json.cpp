#include "reading/json.h"

#include <charconv>
#include <unordered_set>

#include "error.h"

namespace intarsia {
namespace {

constexpr int kDeepest = 64;
constexpr std::size_t kLongest = std::size_t{1} << 28;  // bytes of a document

[[noreturn]] void wrong(const std::string& at, const char* wanted) {
    throw ArtifactError(at + ": should be " + wanted);
}

bool is_digit(char c) { return c >= '0' && c <= '9'; }

// Bytes of the UTF-8 sequence that starts at `text`, 0 if it is none (RFC 3629: no surrogates, nothing overlong).
std::size_t sequence(std::string_view text) {
    const auto at = [&](std::size_t place) { return static_cast<unsigned char>(text[place]); };
    const unsigned first = at(0);
    const std::size_t length = first < 0x80 ? 1 : first >= 0xC2 && first < 0xE0 ? 2 : first >= 0xE0 && first < 0xF0 ? 3
                               : first >= 0xF0 && first < 0xF5 ? 4 : 0;
    if (length == 0 || length > text.size()) {
        return 0;
    }
    for (std::size_t place = 1; place < length; ++place) {
        if ((at(place) & 0xC0) != 0x80) {
            return 0;
        }
    }
    const bool bad = (first == 0xE0 && at(1) < 0xA0) || (first == 0xED && at(1) >= 0xA0) ||
                     (first == 0xF0 && at(1) < 0x90) || (first == 0xF4 && at(1) >= 0x90);
    return bad ? 0 : length;
}

void append_utf8(std::string& text, std::uint32_t code) {
    if (code < 0x80) {
        text += static_cast<char>(code);
    } else if (code < 0x800) {
        text += static_cast<char>(0xC0 | code >> 6);
        text += static_cast<char>(0x80 | (code & 0x3F));
    } else if (code < 0x10000) {
        text += static_cast<char>(0xE0 | code >> 12);
        text += static_cast<char>(0x80 | (code >> 6 & 0x3F));
        text += static_cast<char>(0x80 | (code & 0x3F));
    } else {
        text += static_cast<char>(0xF0 | code >> 18);
        text += static_cast<char>(0x80 | (code >> 12 & 0x3F));
        text += static_cast<char>(0x80 | (code >> 6 & 0x3F));
        text += static_cast<char>(0x80 | (code & 0x3F));
    }
}

}  // namespace

class JsonReader {
  public:
    explicit JsonReader(std::string_view text) : text_(text) {}

    Json document() {
        if (text_.size() > kLongest) {
            fail("the document is too long");
        }
        Json found = value(0);
        space();
        if (place_ != text_.size()) {
            fail("something stands behind its end");
        }
        return found;
    }

  private:
    [[noreturn]] void fail(const char* what) const {
        throw ArtifactError("JSON, byte " + std::to_string(place_) + ": " + what);
    }

    char peek() const { return place_ < text_.size() ? text_[place_] : '\0'; }

    void space() {
        while (place_ < text_.size() && (peek() == ' ' || peek() == '\n' || peek() == '\r' || peek() == '\t')) {
            ++place_;
        }
    }

    bool take(char c) {
        space();
        if (place_ >= text_.size() || text_[place_] != c) {
            return false;
        }
        ++place_;
        return true;
    }

    void word(std::string_view wanted) {
        if (text_.substr(place_, wanted.size()) != wanted) {
            fail("no value");
        }
        place_ += wanted.size();
    }

    Json value(int depth) {
        if (depth > kDeepest) {
            fail("too deep");
        }
        space();
        Json found;
        switch (peek()) {
            case '{':
                object(found, depth);
                break;
            case '[':
                list(found, depth);
                break;
            case '"':
                found.kind_ = Json::Kind::kText;
                found.text_ = text();
                break;
            case 't':
            case 'f':
                found.kind_ = Json::Kind::kBool;
                found.boolean_ = peek() == 't';
                word(found.boolean_ ? "true" : "false");
                break;
            case 'n':
                word("null");
                break;
            default:
                number(found);
        }
        return found;
    }

    void object(Json& found, int depth) {
        found.kind_ = Json::Kind::kObject;
        ++place_;
        if (take('}')) {
            return;
        }
        std::unordered_set<std::string> names;
        do {
            space();
            if (peek() != '"') {
                fail("no name of a member");
            }
            std::string name = text();
            if (!names.insert(name).second) {
                fail("a name is there twice");
            }
            if (!take(':')) {
                fail("no ':' behind a name");
            }
            found.members_.emplace_back(std::move(name), value(depth + 1));
        } while (take(','));
        if (!take('}')) {
            fail("an object has no end");
        }
    }

    void list(Json& found, int depth) {
        found.kind_ = Json::Kind::kList;
        ++place_;
        if (take(']')) {
            return;
        }
        do {
            found.list_.push_back(value(depth + 1));
        } while (take(','));
        if (!take(']')) {
            fail("a list has no end");
        }
    }

    std::string text() {
        std::string found;
        for (++place_; place_ < text_.size();) {
            const char c = text_[place_];
            if (c == '"') {
                ++place_;
                return found;
            }
            if (c == '\\') {
                escape(found);
                continue;
            }
            const std::size_t length = static_cast<unsigned char>(c) < 0x20 ? 0 : sequence(text_.substr(place_));
            if (length == 0) {
                fail("no UTF-8 in a string, or a control character");
            }
            found.append(text_.substr(place_, length));
            place_ += length;
        }
        fail("a string has no end");
    }

    void escape(std::string& found) {
        ++place_;
        const char c = peek();
        ++place_;
        static constexpr std::string_view kFrom = "\"\\/bfnrt";
        static constexpr std::string_view kTo = "\"\\/\b\f\n\r\t";
        if (c == 'u') {
            std::uint32_t code = hex();
            if (code >= 0xD800 && code < 0xDC00 && text_.substr(place_, 2) == "\\u") {
                place_ += 2;
                const std::uint32_t low = hex();
                if (low < 0xDC00 || low >= 0xE000) {
                    fail("half a surrogate pair");
                }
                code = 0x10000 + ((code - 0xD800) << 10) + (low - 0xDC00);
            }
            if (code >= 0xD800 && code < 0xE000) {
                fail("half a surrogate pair");
            }
            append_utf8(found, code);
            return;
        }
        const std::size_t which = c == '\0' ? std::string_view::npos : kFrom.find(c);
        if (which == std::string_view::npos) {
            fail("no escape");
        }
        found += kTo[which];
    }

    std::uint32_t hex() {
        std::uint32_t code = 0;
        for (int digit = 0; digit < 4; ++digit, ++place_) {
            const char c = peek();
            const int value = is_digit(c) ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10
                              : c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
            if (value < 0) {
                fail("no four hexadecimal digits");
            }
            code = code << 4 | static_cast<std::uint32_t>(value);
        }
        return code;
    }

    void digits() {
        if (!is_digit(peek())) {
            fail("no value");
        }
        while (is_digit(peek())) {
            ++place_;
        }
    }

    void number(Json& found) {
        const std::size_t start = place_;
        place_ += peek() == '-';
        if (peek() == '0') {
            ++place_;
        } else {
            digits();
        }
        bool is_whole = true;
        if (peek() == '.') {
            is_whole = false;
            ++place_;
            digits();
        }
        if (peek() == 'e' || peek() == 'E') {
            is_whole = false;
            ++place_;
            place_ += peek() == '+' || peek() == '-';
            digits();
        }
        const std::string_view spelt(text_.substr(start, place_ - start));
        found.kind_ = is_whole ? Json::Kind::kInteger : Json::Kind::kReal;
        // Unlike `strtod` it knows one decimal point, whatever the locale of the process is.
        const auto read = is_whole ? std::from_chars(spelt.data(), spelt.data() + spelt.size(), found.integer_)
                                   : std::from_chars(spelt.data(), spelt.data() + spelt.size(), found.real_);
        if (read.ec != std::errc()) {
            fail("a number has more than 64 bits");
        }
    }

    std::string_view text_;
    std::size_t place_ = 0;
};

Json Json::parse(std::string_view text) { return JsonReader(text).document(); }

bool Json::boolean(const std::string& at) const {
    return kind_ == Kind::kBool ? boolean_ : (wrong(at, "true or false"), false);
}

std::int64_t Json::integer(const std::string& at) const {
    return kind_ == Kind::kInteger ? integer_ : (wrong(at, "a whole number"), 0);
}

double Json::real(const std::string& at) const {
    if (kind_ == Kind::kInteger) {
        return static_cast<double>(integer_);
    }
    return kind_ == Kind::kReal ? real_ : (wrong(at, "a number"), 0);
}

const std::string& Json::text(const std::string& at) const {
    return kind_ == Kind::kText ? text_ : (wrong(at, "a string"), text_);
}

const std::vector<Json>& Json::list(const std::string& at) const {
    return kind_ == Kind::kList ? list_ : (wrong(at, "a list"), list_);
}

const Json::Members& Json::members(const std::string& at) const {
    return kind_ == Kind::kObject ? members_ : (wrong(at, "an object"), members_);
}

const Json* Json::find(std::string_view name) const {
    for (const auto& [own, value] : members_) {
        if (own == name) {
            return &value;
        }
    }
    return nullptr;
}

const Json& Json::get(std::string_view name, const std::string& at) const {
    members(at);
    const Json* found = find(name);
    if (found == nullptr) {
        throw ArtifactError(at + "." + std::string(name) + ": is missing");
    }
    return *found;
}

}  // namespace intarsia
