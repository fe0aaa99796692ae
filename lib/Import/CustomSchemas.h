// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// ONNX's schemas and, beside them, those of custom ops, so that shape inference
// goes through them.

#ifndef BESSEMER_LIB_IMPORT_CUSTOMSCHEMAS_H
#define BESSEMER_LIB_IMPORT_CUSTOMSCHEMAS_H

#include "bessemer/Import/CustomOp.h"
#include "onnx/defs/schema.h"

namespace bessemer::ingest {

class CustomSchemas : public onnx::ISchemaRegistry {
public:
  explicit CustomSchemas(const CustomOps *ops) : ops(ops) {}

  const onnx::OpSchema *GetSchema(const std::string &name, int version,
                                  const std::string &domain) const override;

private:
  const CustomOps *ops;
  /// Made when first asked for.
  mutable std::map<std::pair<std::string, std::string>, onnx::OpSchema> schemas;
};

} // namespace bessemer::ingest

#endif // BESSEMER_LIB_IMPORT_CUSTOMSCHEMAS_H
