// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// JSON that the command line makes.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

namespace bessemer::tool {

using Json = nlohmann::ordered_json;

/// The value as text; bytes that are no UTF-8, as names in files and paths may
/// have, become U+FFFD.
inline std::string printable(const Json &value, int indent = -1) {
  return value.dump(indent, ' ', /*ensure_ascii=*/false,
                    Json::error_handler_t::replace);
}

} // namespace bessemer::tool
