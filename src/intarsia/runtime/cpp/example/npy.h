// Arrays in NumPy's file format, version 1.0 to 3.0 to read and 1.0 to write: C-contiguous, little-endian.
#pragma once

#include <algorithm>
#include <cstdint>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "intarsia.h"

namespace npy {

struct File {
    intarsia_dtype dtype;
    std::vector<std::int64_t> shape;
    std::vector<char> bytes;
};

// NumPy's names of the types. bfloat16, which it has none for, is written as 16-bit integers.
inline const std::vector<std::pair<std::string, intarsia_dtype>>& types() {
    static const std::vector<std::pair<std::string, intarsia_dtype>> known{
        {"<f4", INTARSIA_FLOAT32}, {"|u1", INTARSIA_UINT8},   {"|i1", INTARSIA_INT8},   {"<u2", INTARSIA_UINT16},
        {"<i2", INTARSIA_INT16},   {"<i4", INTARSIA_INT32},   {"<i8", INTARSIA_INT64},  {"|b1", INTARSIA_BOOL},
        {"<f2", INTARSIA_FLOAT16}, {"<f8", INTARSIA_FLOAT64}, {"<u4", INTARSIA_UINT32}, {"<u8", INTARSIA_UINT64},
        {"<u2", INTARSIA_BFLOAT16}};
    return known;
}

inline File read(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    const std::vector<char> all((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
    const auto fail = [&](const char* why) { throw std::runtime_error(path + ": " + why); };
    if (all.size() < 12 || std::string(all.begin(), all.begin() + 6) != "\x93NUMPY") {
        fail("cannot be read as an array of NumPy");
    }
    const std::size_t digits = all[6] == 1 ? 2 : 4;
    std::size_t length = 0;
    for (std::size_t byte = digits; byte-- > 0;) {
        length = length << 8 | static_cast<unsigned char>(all[8 + byte]);
    }
    const std::size_t start = 8 + digits;
    if (length > all.size() - start) {
        fail("is cut short");
    }
    const std::string head(all.data() + start, length);
    if (head.find("'fortran_order': False") == std::string::npos) {
        fail("is not C-contiguous; save numpy.ascontiguousarray of it");
    }
    const std::size_t name = head.find("'descr': '"), open = head.find('('), close = head.find(')', open);
    if (name == std::string::npos || close == std::string::npos) {
        fail("has no type, or no shape");
    }
    File found{INTARSIA_FLOAT32, {}, {all.begin() + static_cast<std::ptrdiff_t>(start + length), all.end()}};
    bool is_known = false;
    for (const auto& [text, dtype] : types()) {
        if (!is_known && head.compare(name + 10, text.size(), text) == 0) {
            found.dtype = dtype;
            is_known = true;
        }
    }
    if (!is_known) {
        fail("has elements of a type that models do not take");
    }
    for (std::size_t place = open + 1; place < close;) {
        const std::size_t comma = std::min(head.find(',', place), close);
        const std::string number = head.substr(place, comma - place);
        if (number.find_first_of("0123456789") != std::string::npos) {
            found.shape.push_back(std::stoll(number));
        }
        place = comma + 1;
    }
    return found;
}

inline void write(const std::string& path, const File& array) {
    std::string type;
    for (const auto& [text, dtype] : types()) {
        type = dtype == array.dtype ? text : type;
    }
    std::string shape;
    for (const std::int64_t size : array.shape) {
        shape += std::to_string(size) + ",";
    }
    std::string head = "{'descr': '" + type + "', 'fortran_order': False, 'shape': (" + shape + "), }";
    head += std::string(63 - (10 + head.size()) % 64, ' ') + "\n";
    std::ofstream file(path, std::ios::binary);
    file.write("\x93NUMPY\x01\x00", 8);
    file.put(static_cast<char>(head.size() & 0xFF)).put(static_cast<char>(head.size() >> 8));
    file.write(head.data(), static_cast<std::streamsize>(head.size()));
    file.write(array.bytes.data(), static_cast<std::streamsize>(array.bytes.size()));
    if (!file) {
        throw std::runtime_error(path + ": cannot be written");
    }
}

}  // namespace npy
