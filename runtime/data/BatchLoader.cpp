// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A ring of preallocated batches between the loader's thread and the trainer.
#include "bessemer/runtime/BatchLoader.h"
#include "core/AvailableMemory.h"
#include "data/Formats.h"

#include <algorithm>
#include <condition_variable>
#include <cstring>
#include <mutex>
#include <new>
#include <system_error>
#include <thread>

namespace bessemer::runtime {
namespace {

struct Slot {
  Batch batch;
  std::vector<data::Buffer> buffers;
  Status status;
  bool last = false;
};

Status outOfMemory() {
  return Status::invalidInput("not enough memory to load the data's batches; "
                              "use less data or a smaller batch");
}

/// A process that touches more memory than there is would be killed.
Status checkMemory(std::span<const ValueInfo> inputs, uint64_t batches) {
  uint64_t bytes = 0;
  for (const ValueInfo &input : inputs)
    bytes += input.type.byteSize(); // Below 2^47 each, as a program's.
  std::optional<uint64_t> available = availableMemory();
  if (!available || bytes <= *available / batches)
    return {};
  return Status::invalidInput(
      "not enough memory: " + std::to_string(batches) +
      " batches of data take " + std::to_string(batches * bytes) +
      " bytes, there are " + std::to_string(*available) +
      "; use a smaller batch");
}

} // namespace

/// `filled` and `taken` count batches; slot i % depth holds batch i. The
/// consumer's batch counts as taken when it asks for the next one.
struct BatchLoader::Impl {
  std::shared_ptr<const BoundData> data;
  BatchOptions options;
  Cursor cursor;
  std::vector<int64_t> order;
  std::vector<Slot> slots;

  std::mutex mutex;
  std::condition_variable changed;
  uint64_t filled = 0, taken = 0;
  bool holding = false, stopping = false;
  std::thread thread;

  /// Made ahead: there is no memory for it when it is needed.
  Status noMemory = outOfMemory();

  void fillSlots();
  void fill(Slot &slot);
  void fillOrFail(Slot &slot);
  Status fillRows(Slot &slot, int64_t count);
};

void BatchLoader::Impl::fillSlots() {
  while (true) {
    {
      std::unique_lock lock(mutex);
      changed.wait(lock,
                   [&] { return stopping || filled - taken < slots.size(); });
      if (stopping)
        return;
    }
    Slot &slot = slots[filled % slots.size()];
    fillOrFail(slot);
    // Read before the consumer can see the slot and recycle it.
    bool end = slot.last || !slot.status.ok();
    {
      std::lock_guard lock(mutex);
      ++filled;
    }
    changed.notify_all();
    if (end)
      return;
  }
}

/// Nothing may be thrown out of the thread: the consumer gets it as a status.
void BatchLoader::Impl::fillOrFail(Slot &slot) {
  try {
    fill(slot);
  } catch (const std::bad_alloc &) {
    slot.status = std::move(noMemory);
  } catch (const std::exception &exception) {
    slot.status = Status::internal(std::string("loading the data's batches: ") +
                                   exception.what());
  }
}

void BatchLoader::Impl::fill(Slot &slot) {
  uint64_t rows = static_cast<uint64_t>(data->rows());
  uint64_t batch = static_cast<uint64_t>(data->batch());
  bool train = options.mode == BatchOptions::Mode::Train;
  if (train && rows - cursor.position < batch) {
    cursor = {cursor.epoch + 1, 0};
    order.clear();
  }
  slot.last = cursor.position >= rows;
  if (slot.last)
    return;
  if (train && order.empty())
    order = shuffledRows(data->rows(), options.seed, cursor.epoch);
  uint64_t count = std::min(batch, rows - cursor.position);
  slot.batch.begin = cursor;
  slot.batch.validRows = static_cast<int64_t>(count);
  slot.status = fillRows(slot, slot.batch.validRows);
  cursor.position += count;
  slot.batch.end = cursor;
}

Status BatchLoader::Impl::fillRows(Slot &slot, int64_t count) {
  for (size_t input = 0; input < slot.buffers.size(); ++input) {
    size_t rowBytes = data->rowBytes(input);
    std::byte *to = slot.buffers[input].data.get();
    for (int64_t i = 0; i < count; ++i) {
      int64_t row = static_cast<int64_t>(cursor.position) + i;
      if (!order.empty())
        row = order[static_cast<size_t>(row)];
      BESSEMER_RETURN_IF_ERROR(
          data->copyRow(input, row, to + static_cast<size_t>(i) * rowBytes));
    }
    size_t used = static_cast<size_t>(count) * rowBytes;
    std::memset(to + used, 0, slot.buffers[input].size - used);
  }
  return {};
}

BatchLoader::BatchLoader(std::unique_ptr<Impl> implementation)
    : implementation(std::move(implementation)) {}

Expected<std::unique_ptr<BatchLoader>>
BatchLoader::create(std::shared_ptr<const BoundData> data,
                    const BatchOptions &options, Cursor start) try {
  if (options.mode == BatchOptions::Mode::Train && data->rows() < data->batch())
    return Status::invalidInput("the data has " + std::to_string(data->rows()) +
                                " rows, fewer than one batch of " +
                                std::to_string(data->batch()));
  if (start.position > static_cast<uint64_t>(data->rows()))
    return Status::invalidInput("the data has " + std::to_string(data->rows()) +
                                " rows, the checkpoint's position is " +
                                std::to_string(start.position));
  auto impl = std::make_unique<Impl>();
  impl->data = std::move(data);
  impl->options = options;
  impl->cursor = start;
  // One slot more than ready batches, as the consumer holds one.
  impl->slots.resize(std::max(options.depth, 1u) + 1);
  std::span<const ValueInfo> inputs = impl->data->inputs();
  BESSEMER_RETURN_IF_ERROR(checkMemory(inputs, impl->slots.size()));
  for (Slot &slot : impl->slots)
    for (const ValueInfo &input : inputs) {
      slot.buffers.push_back(data::allocate(input.type.byteSize()));
      slot.batch.inputs.push_back(
          {input.name, {input.type, slot.buffers.back().data.get()}});
    }
  Impl *state = impl.get();
  try {
    impl->thread = std::thread([state] { state->fillSlots(); });
  } catch (const std::system_error &error) {
    return Status::invalidInput(
        std::string("cannot start the thread that loads the data: ") +
        error.code().message());
  }
  return std::unique_ptr<BatchLoader>(new BatchLoader(std::move(impl)));
} catch (const std::bad_alloc &) {
  return outOfMemory();
}

BatchLoader::~BatchLoader() {
  if (!implementation)
    return;
  {
    std::lock_guard lock(implementation->mutex);
    implementation->stopping = true;
  }
  implementation->changed.notify_all();
  implementation->thread.join();
}

Expected<const Batch *> BatchLoader::next() {
  Impl &impl = *implementation;
  std::unique_lock lock(impl.mutex);
  if (impl.holding) {
    ++impl.taken;
    impl.holding = false;
    impl.changed.notify_all();
  }
  impl.changed.wait(lock, [&] { return impl.filled > impl.taken; });
  Slot &slot = impl.slots[impl.taken % impl.slots.size()];
  // The end and an error stay where they are: asking again gives them again.
  if (!slot.status.ok())
    return slot.status;
  if (slot.last)
    return nullptr;
  impl.holding = true;
  return &slot.batch;
}

} // namespace bessemer::runtime
