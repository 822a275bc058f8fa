"""PyTorch's CUDA caching allocator, as far as sizes go: which segments does a sequence of requests make it reserve?

Default settings, one stream, a device that never fills up. The rules are those of c10/cuda/CUDACachingAllocator.cpp.
"""
from bisect import bisect_left, insort

MIB = 1 << 20
GRANULE = 512


def segment_for(size):
    """Bytes asked of the driver when no cached block fits."""
    if size <= MIB:
        return 2 * MIB
    if size < 10 * MIB:
        return 20 * MIB
    return (size + 2 * MIB - 1) // (2 * MIB) * (2 * MIB)


class Block:
    """A piece of a segment; `left` and `right` are its neighbours there."""

    def __init__(self, address, size, left=None, right=None):
        self.address, self.size, self.left, self.right, self.free = address, size, left, right, False
        if left:
            left.right = self
        if right:
            right.left = self

    def key(self):
        return self.size, self.address

    def swallow(self, neighbour):
        self.size += neighbour.size
        if neighbour is self.left:
            self.address, self.left = neighbour.address, neighbour.left
            if self.left:
                self.left.right = self
        else:
            self.right = neighbour.right
            if self.right:
                self.right.left = self


class Pool:
    """Free blocks of small or of large segments: the smallest that fits is taken, among equals the lowest address."""

    def __init__(self, smallest_rest):
        self.smallest_rest, self.keys, self.blocks = smallest_rest, [], {}

    def give(self, block):
        block.free = True
        insort(self.keys, block.key())
        self.blocks[block.key()] = block

    def take(self, block):
        block.free = False
        self.keys.remove(block.key())
        return self.blocks.pop(block.key())

    def best_fit(self, size):
        at = bisect_left(self.keys, (size, 0))
        return self.take(self.blocks[self.keys[at]]) if at < len(self.keys) else None


def replay(events):
    """{"reserved", "allocated", "segments"}: peaks in bytes, and the number of segments, from an empty cache."""
    small, large = Pool(GRANULE), Pool(MIB + GRANULE)
    used = {}
    reserved = allocated = most_allocated = segments = 0
    for kind, number, size in events:
        if kind == "alloc":
            pool = small if size <= MIB else large
            block = pool.best_fit(size)
            if block is None:
                block = Block(reserved, segment_for(size))   # segments only grow: `reserved` is a fresh address
                reserved += block.size
                segments += 1
            if block.size - size >= pool.smallest_rest:
                rest = Block(block.address + size, block.size - size, block, block.right)
                block.size = size
                pool.give(rest)
            used[number] = block, pool
            allocated += block.size
            most_allocated = max(most_allocated, allocated)
            continue
        block, pool = used.pop(number)
        allocated -= block.size
        for neighbour in (block.left, block.right):
            if neighbour and neighbour.free:
                pool.take(neighbour)
                block.swallow(neighbour)
        pool.give(block)
    return {"reserved": reserved, "allocated": most_allocated, "segments": segments}
