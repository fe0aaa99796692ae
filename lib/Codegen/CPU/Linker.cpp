// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A linker for what LLVM makes of kernels: code and read-only constants with
// relative references.

#include "Linker.h"
#include "llvm/BinaryFormat/ELF.h"
#include "llvm/Object/ELFObjectFile.h"
#include "llvm/Support/Endian.h"
#include "llvm/Support/MathExtras.h"

using namespace bessemer::cpu;
using namespace llvm;
using object::ELF64LE;

namespace {
class ObjectLinker {
public:
  ObjectLinker(const object::ELFFile<ELF64LE> &file,
               SmallVectorImpl<char> &blob)
      : file(file), blob(blob) {}

  Expected<uint64_t> link(StringRef symbol);

private:
  using Section = ELF64LE::Shdr;

  Error place();
  Error relocate(const Section &relocations);
  /// Offset in the blob of a symbol.
  Expected<uint64_t> resolve(const ELF64LE::Sym &symbol);

  const object::ELFFile<ELF64LE> &file;
  SmallVectorImpl<char> &blob;
  ArrayRef<Section> sections;
  const Section *symbolTable = nullptr;
  StringRef names;
  /// Of each section; ~0 if it is not in the blob.
  std::vector<uint64_t> offsets;
};
} // namespace

static Error makeError(const Twine &message) {
  return createStringError(message.str());
}

Error ObjectLinker::place() {
  offsets.assign(sections.size(), ~uint64_t(0));
  for (auto [i, section] : enumerate(sections)) {
    if (section.sh_type == ELF::SHT_SYMTAB)
      symbolTable = &section;
    if (!(section.sh_flags & ELF::SHF_ALLOC) || !section.sh_size)
      continue;
    Expected<StringRef> name = file.getSectionName(section);
    if (!name)
      return name.takeError();
    if (section.sh_flags & ELF::SHF_WRITE ||
        section.sh_type != ELF::SHT_PROGBITS ||
        !(name->starts_with(".text") || name->starts_with(".rodata")))
      return makeError("unexpected section " + *name);
    Expected<ArrayRef<uint8_t>> content = file.getSectionContents(section);
    if (!content)
      return content.takeError();
    bool isCode = section.sh_flags & ELF::SHF_EXECINSTR;
    uint64_t align =
        std::max<uint64_t>(section.sh_addralign, isCode ? kKernelAlign : 1);
    if (align > kKernelAlign)
      return makeError("alignment " + Twine(align) + " of section " + *name);
    // Gaps hold int3.
    blob.resize(alignTo(blob.size(), align), char(0xcc));
    offsets[i] = blob.size();
    blob.append(content->begin(), content->end());
  }
  if (!symbolTable)
    return makeError("no symbol table");
  return Error::success();
}

Expected<uint64_t> ObjectLinker::resolve(const ELF64LE::Sym &symbol) {
  Expected<StringRef> name = symbol.getName(names);
  if (!name)
    return name.takeError();
  uint32_t section = symbol.st_shndx;
  if (section == ELF::SHN_UNDEF)
    return makeError("undefined symbol " + *name);
  if (section >= offsets.size() || offsets[section] == ~uint64_t(0))
    return makeError("symbol " + *name + " outside code and constants");
  return offsets[section] + symbol.st_value;
}

Error ObjectLinker::relocate(const Section &relocations) {
  uint64_t base = offsets[relocations.sh_info];
  if (base == ~uint64_t(0))
    return Error::success();
  if (relocations.sh_type != ELF::SHT_RELA)
    return makeError("relocations without addends");
  auto entries = file.relas(relocations);
  if (!entries)
    return entries.takeError();
  for (const ELF64LE::Rela &entry : *entries) {
    Expected<const ELF64LE::Sym *> symbol =
        file.getRelocationSymbol(entry, symbolTable);
    if (!symbol)
      return symbol.takeError();
    uint32_t type = entry.getType(/*isMips64EL=*/false);
    if (type != ELF::R_X86_64_PC32 && type != ELF::R_X86_64_PLT32)
      return makeError("relocation " +
                       object::getELFRelocationTypeName(ELF::EM_X86_64, type));
    if (!*symbol)
      return makeError("relocation without a symbol");
    Expected<uint64_t> target = resolve(**symbol);
    if (!target)
      return target.takeError();
    uint64_t place = base + entry.r_offset;
    int64_t value = int64_t(*target) + entry.r_addend - int64_t(place);
    if (!isInt<32>(value) || place + 4 > blob.size())
      return makeError("relocation out of range");
    support::endian::write32le(blob.data() + place, uint32_t(value));
  }
  return Error::success();
}

Expected<uint64_t> ObjectLinker::link(StringRef wanted) {
  auto found = file.sections();
  if (!found)
    return found.takeError();
  sections = *found;
  if (Error error = place())
    return std::move(error);
  Expected<StringRef> strings = file.getStringTableForSymtab(*symbolTable);
  if (!strings)
    return strings.takeError();
  names = *strings;
  for (const Section &section : sections)
    if (section.sh_type == ELF::SHT_RELA || section.sh_type == ELF::SHT_REL)
      if (Error error = relocate(section))
        return std::move(error);
  auto symbols = file.symbols(symbolTable);
  if (!symbols)
    return symbols.takeError();
  for (const ELF64LE::Sym &symbol : *symbols) {
    Expected<StringRef> name = symbol.getName(names);
    if (!name)
      return name.takeError();
    // The file symbol has the same name.
    if (*name == wanted && symbol.getType() == ELF::STT_FUNC)
      return resolve(symbol);
  }
  return makeError("no symbol " + wanted);
}

Expected<uint64_t> bessemer::cpu::linkObject(ArrayRef<char> object,
                                             StringRef symbol,
                                             SmallVectorImpl<char> &blob) {
  auto file =
      object::ELFFile<ELF64LE>::create(StringRef(object.data(), object.size()));
  if (!file)
    return file.takeError();
  return ObjectLinker(*file, blob).link(symbol);
}
