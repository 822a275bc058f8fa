// Folders, asked by path: what is one, what exists, what lies in one. POSIX's own calls, which a
// program without <filesystem>'s library has too.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace plimsoll {

bool is_folder(const std::string& path);
bool path_exists(const std::string& path);

// "folder/name"; the name alone where the folder is empty.
std::string path_in(std::string_view folder, std::string_view name);

// The names of what lies in a folder, sorted, of the first `most` that the system gives; none where
// it cannot be read. "" is the folder that the program runs in.
std::vector<std::string> names_in(const std::string& folder, size_t most = SIZE_MAX);

}  // namespace plimsoll
