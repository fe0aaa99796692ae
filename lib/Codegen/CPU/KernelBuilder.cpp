// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Functions, loops and integers of KernelBuilder. Memory and vectors:
// KernelVectors.cpp.

#include "KernelBuilder.h"
#include "llvm/IR/Constants.h"

using namespace bessemer::cpu;
using llvm::ArrayRef;
using llvm::BasicBlock;
using llvm::ConstantInt;
using llvm::StringRef;

KernelBuilder::KernelBuilder(llvm::Module &module, StringRef name,
                             const CPUTarget &target, bool strict)
    : target(target), strict(strict), module(module), ir(module.getContext()) {
  llvm::Type *pointer = ir.getPtrTy(), *index = ir.getInt64Ty();
  auto *type = llvm::FunctionType::get(
      ir.getVoidTy(), {pointer, index, index, pointer}, /*isVarArg=*/false);
  function = llvm::Function::Create(type, llvm::Function::ExternalLinkage, name,
                                    module);
  // No stack unwinding, no calls into libc (a loop that clears memory must not
  // become memset: a blob has no imports).
  function->addFnAttr(llvm::Attribute::NoUnwind);
  function->addFnAttr("no-builtins");
  function->addFnAttr("target-cpu", target.name);
  std::string width = std::to_string(target.lanes * 32);
  function->addFnAttr("prefer-vector-width", width);
  function->addFnAttr("min-legal-vector-width", width);
  buffers = function->getArg(0);
  tileBegin = function->getArg(1);
  tileEnd = function->getArg(2);
  scratch = function->getArg(3);
  ir.SetInsertPoint(BasicBlock::Create(module.getContext(), "entry", function));
}

void KernelBuilder::finish() { ir.CreateRetVoid(); }

Vals KernelBuilder::loop(Val lo, Val hi, int64_t step, ArrayRef<Val> init,
                         llvm::function_ref<Vals(Val, ArrayRef<Val>)> body) {
  // Bottom-tested, behind a guard that folds away for constant bounds.
  auto *runs = llvm::dyn_cast<ConstantInt>(lessThan(lo, hi));
  if (runs && runs->isZero())
    return Vals(init);
  if (runs) {
    auto *first = llvm::cast<ConstantInt>(lo),
         *end = llvm::cast<ConstantInt>(hi);
    if (first->getSExtValue() + step >= end->getSExtValue())
      return body(lo, init);
  }
  BasicBlock *before = ir.GetInsertBlock();
  BasicBlock *head = BasicBlock::Create(module.getContext(), "loop", function);
  BasicBlock *exit = BasicBlock::Create(module.getContext(), "done", function);
  if (runs)
    ir.CreateBr(head);
  else
    ir.CreateCondBr(lessThan(lo, hi), head, exit);

  ir.SetInsertPoint(head);
  llvm::PHINode *iv = ir.CreatePHI(lo->getType(), 2);
  iv->addIncoming(lo, before);
  Vals carried;
  for (Val value : init) {
    llvm::PHINode *phi = ir.CreatePHI(value->getType(), 2);
    phi->addIncoming(value, before);
    carried.push_back(phi);
  }
  Vals next = body(iv, carried);
  assert(next.size() == init.size() && "loop-carried values");
  BasicBlock *latch = ir.GetInsertBlock();
  Val ivNext = add(iv, step);
  ir.CreateCondBr(lessThan(ivNext, hi), head, exit);
  iv->addIncoming(ivNext, latch);
  for (auto [phi, value] : llvm::zip(carried, next))
    llvm::cast<llvm::PHINode>(phi)->addIncoming(value, latch);

  ir.SetInsertPoint(exit);
  Vals results;
  for (auto [first, value] : llvm::zip(init, next)) {
    llvm::PHINode *phi = ir.CreatePHI(value->getType(), 2);
    phi->addIncoming(value, latch);
    if (!runs)
      phi->addIncoming(first, before);
    results.push_back(phi);
  }
  return results;
}

void KernelBuilder::loop(Val lo, Val hi, int64_t step,
                         llvm::function_ref<void(Val)> body) {
  loop(lo, hi, step, {}, [&](Val iv, ArrayRef<Val>) {
    body(iv);
    return Vals();
  });
}

void KernelBuilder::ifThen(Val condition, llvm::function_ref<void()> then) {
  if (auto *constant = llvm::dyn_cast<ConstantInt>(condition)) {
    if (!constant->isZero())
      then();
    return;
  }
  BasicBlock *inside =
      BasicBlock::Create(module.getContext(), "then", function);
  BasicBlock *after =
      BasicBlock::Create(module.getContext(), "after", function);
  ir.CreateCondBr(condition, inside, after);
  ir.SetInsertPoint(inside);
  then();
  ir.CreateBr(after);
  ir.SetInsertPoint(after);
}

Val KernelBuilder::search(Val first,
                          llvm::function_ref<std::pair<Val, Val>(Val)> step) {
  BasicBlock *before = ir.GetInsertBlock();
  BasicBlock *head =
      BasicBlock::Create(module.getContext(), "search", function);
  BasicBlock *exit = BasicBlock::Create(module.getContext(), "found", function);
  ir.CreateBr(head);
  ir.SetInsertPoint(head);
  llvm::PHINode *i = ir.CreatePHI(first->getType(), 2);
  i->addIncoming(first, before);
  auto [found, next] = step(i);
  i->addIncoming(next, ir.GetInsertBlock());
  ir.CreateCondBr(found, exit, head);
  ir.SetInsertPoint(exit);
  return i;
}

void KernelBuilder::follow(Val first, llvm::function_ref<Val(Val)> body) {
  ifThen(ir.CreateICmpSGE(first, i64(0)), [&] {
    search(first, [&](Val i) {
      Val next = body(i);
      return std::pair(lessThan(next, i64(0)), next);
    });
  });
}

void KernelBuilder::forTiles(llvm::function_ref<void(Val)> body) {
  loop(tileBegin, tileEnd, 1, body);
}

Vals KernelBuilder::strips(Val n, int64_t width, unsigned unroll,
                           ArrayRef<Val> init, VectorBody body,
                           Combine combine) {
  std::vector<Vals> sets(unroll, Vals(init));
  int64_t step = width * unroll;
  auto *constant = llvm::dyn_cast<ConstantInt>(n);
  Val main = constant ? Val(i64(constant->getSExtValue() / step * step))
                      : sub(n, rem(n, step));
  Vals flat;
  for (const Vals &set : sets)
    flat.append(set.begin(), set.end());
  flat = loop(i64(0), main, step, flat, [&](Val j, ArrayRef<Val> carried) {
    Vals next;
    for (unsigned u = 0; u < unroll; ++u) {
      Vals result = body(add(j, u * width), nullptr,
                         carried.slice(u * init.size(), init.size()));
      next.append(result.begin(), result.end());
    }
    return next;
  });
  for (unsigned u = 0; u < unroll; ++u)
    sets[u].assign(flat.begin() + u * init.size(),
                   flat.begin() + (u + 1) * init.size());

  // The rest goes to the first set, in a loop of masked strips, so that the
  // body is emitted once more only.
  int64_t rest = constant ? constant->getSExtValue() % step : -1;
  bool isMasked = width > 1 && (rest < 0 || rest % width != 0);
  if (rest != 0 && step > 1)
    sets[0] = loop(main, n, width, sets[0], [&](Val j, ArrayRef<Val> carried) {
      return body(j, isMasked ? maskBelow(sub(n, j)) : nullptr, carried);
    });
  for (unsigned width = unroll; width > 1; width = (width + 1) / 2)
    for (unsigned u = 0; u < width / 2; ++u)
      sets[u] = combine(sets[u], sets[u + (width + 1) / 2]);
  return sets[0];
}

void KernelBuilder::vectorLoop(Val n, unsigned unroll,
                               llvm::function_ref<void(Val, Val)> body) {
  vectorLoop(
      n, unroll, {},
      [&](Val j, Val mask, ArrayRef<Val>) {
        body(j, mask);
        return Vals();
      },
      [](ArrayRef<Val>, ArrayRef<Val>) { return Vals(); });
}

//===----------------------------------------------------------------------===//
// Integers
//===----------------------------------------------------------------------===//

Val KernelBuilder::mul(Val a, int64_t b) {
  if (b == 1)
    return a;
  return b == 0 ? i64(0) : ir.CreateMul(a, i64(b));
}

// Indices are not negative: unsigned division is cheaper.
Val KernelBuilder::div(Val a, int64_t b) {
  return b == 1 ? a : ir.CreateUDiv(a, i64(b));
}

Val KernelBuilder::rem(Val a, int64_t b) {
  return b == 1 ? i64(0) : ir.CreateURem(a, i64(b));
}

Val KernelBuilder::min(Val a, Val b) {
  return ir.CreateSelect(lessThan(a, b), a, b);
}

Vals KernelBuilder::delinearize(Val index, ArrayRef<int64_t> sizes) {
  Vals indices(sizes.size());
  for (size_t i = sizes.size(); i-- > 0;) {
    indices[i] = i == 0 ? index : rem(index, sizes[i]);
    if (i)
      index = div(index, sizes[i]);
  }
  return indices;
}
