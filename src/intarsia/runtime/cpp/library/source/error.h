// What fails, as an exception inside the library; at its border it becomes a status and a text.
#pragma once

#include <stdexcept>
#include <string>

#include "intarsia.h"

namespace intarsia {

class Error : public std::runtime_error {
  public:
    Error(intarsia_status status, const std::string& text) : std::runtime_error(text), status_(status) {}
    intarsia_status status() const { return status_; }

  private:
    intarsia_status status_;
};

struct ArtifactError : Error {
    explicit ArtifactError(const std::string& text) : Error(INTARSIA_BAD_ARTIFACT, text) {}
};

struct FeedError : Error {
    explicit FeedError(const std::string& text) : Error(INTARSIA_BAD_FEED, text) {}
};

struct LoadError : Error {
    LoadError(const std::string& engine, const std::string& text)
        : Error(INTARSIA_LOAD_FAILED, engine + " did not load its part: " + text) {}
};

struct RunError : Error {
    RunError(const std::string& engine, const std::string& text)
        : Error(INTARSIA_RUN_FAILED, engine + " failed: " + text) {}
};

struct UnavailableError : Error {
    explicit UnavailableError(const std::string& text) : Error(INTARSIA_ENGINE_UNAVAILABLE, text) {}
};

// A name from a file, fit for one line of a message: what cannot be printed is replaced, what is long is cut.
inline std::string shown(const std::string& name) {
    constexpr std::size_t kMost = 200;
    std::string text = "'";
    for (const char c : name.substr(0, kMost)) {
        text += static_cast<unsigned char>(c) < 0x20 || c == 0x7f ? '?' : c;
    }
    return text + (name.size() > kMost ? "...'" : "'");
}

}  // namespace intarsia
