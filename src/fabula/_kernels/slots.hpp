// Things that are known by what they are: numbers of texts, or of pairs, found by their hashes. Who asks keeps the things.
#pragma once

#include <cstdint>
#include <cstring>
#include <deque>
#include <memory>
#include <string_view>
#include <vector>

namespace fabula {

inline uint32_t hash_of(std::string_view text) {
    constexpr uint64_t ODD = 0x9E3779B97F4A7C15u;
    uint64_t h = text.size() * ODD, eight = 0;
    const char *at = text.data();
    size_t left = text.size();
    for (; left >= 8; at += 8, left -= 8) {
        std::memcpy(&eight, at, 8);
        h = (h ^ eight) * ODD;
        h ^= h >> 29;
    }
    eight = 0;
    if (left) std::memcpy(&eight, at, left);
    h = (h ^ eight) * ODD;
    return static_cast<uint32_t>(h >> 32);
}

inline uint32_t hash_of(uint64_t number) {
    number *= 0x9E3779B97F4A7C15u;
    return static_cast<uint32_t>((number ^ number >> 29) * 0xBF58476D1CE4E5B9u >> 32);
}

// Where hashes crowd, the search ends after a few steps and a thing may be forgotten: it is then taken for a new one, and
// texts that were chosen to meet in one place cost no more than others.
class Slots {
  public:
    static constexpr uint32_t NONE = 0xFFFFFFFF;

    // The number of the thing of this hash of which `is(number)` holds; NONE where there is none.
    template <class Is> uint32_t find(uint32_t hash, Is is) const {
        if (slots_.empty()) return NONE;
        const size_t mask = slots_.size() - 1;
        size_t at = hash & mask;
        for (int step = 0; step < FEW && slots_[at].number != NONE; ++step, at = (at + 1) & mask)
            if (slots_[at].hash == hash && is(slots_[at].number)) return slots_[at].number;
        return NONE;
    }
    void add(uint32_t hash, uint32_t number) {
        if (2 * ++count_ > slots_.size()) grow();
        put({hash, number});
    }
    void clear() { slots_.clear(), count_ = 0; }

  private:
    struct Slot {
        uint32_t hash, number;  // NONE: free
    };
    static constexpr int FEW = 64;
    std::vector<Slot> slots_;
    size_t count_ = 0;

    void put(Slot slot) {
        const size_t mask = slots_.size() - 1;
        size_t at = slot.hash & mask;
        for (int step = 1; step < FEW && slots_[at].number != NONE; ++step) at = (at + 1) & mask;
        slots_[at] = slot;
    }
    void grow() {
        std::vector<Slot> before(slots_.empty() ? size_t{1} << 10 : 4 * slots_.size(), Slot{0, NONE});
        before.swap(slots_);
        for (const Slot &slot : before)
            if (slot.number != NONE) put(slot);
    }
};

// Distinct texts, numbered as they come.
class Texts {
  public:
    // The number of a text; `fresh`: it is new. `keep` says where the text stays.
    template <class Keep> uint32_t number(std::string_view text, Keep keep, bool &fresh) {
        const uint32_t hash = hash_of(text), known = slots_.find(hash, [&](uint32_t k) { return all_[k] == text; });
        fresh = known == Slots::NONE;
        if (!fresh) return known;
        const uint32_t number = static_cast<uint32_t>(all_.size());
        all_.push_back(keep(text));
        slots_.add(hash, number);
        return number;
    }
    uint32_t number(std::string_view text) {  // of a text that stays where it is
        bool fresh = false;
        return number(text, [](std::string_view same) { return same; }, fresh);
    }
    const std::vector<std::string_view> &all() const { return all_; }
    size_t size() const { return all_.size(); }
    void clear() { all_.clear(), slots_.clear(); }

  private:
    std::vector<std::string_view> all_;
    Slots slots_;
};

// Room for texts, given back at once.
class Letters {
  public:
    std::string_view keep(std::string_view text) {
        if (text.size() > left_) {
            left_ = text.size() > BLOCK ? text.size() : BLOCK;
            at_ = blocks_.emplace_back(new char[left_]).get();
        }
        char *to = at_;
        if (!text.empty()) std::memcpy(to, text.data(), text.size());
        at_ += text.size();
        left_ -= text.size();
        return {to, text.size()};
    }
    void clear() { blocks_.clear(), left_ = 0; }

  private:
    static constexpr size_t BLOCK = 1 << 18;
    std::vector<std::unique_ptr<char[]>> blocks_;
    char *at_ = nullptr;
    size_t left_ = 0;
};

}  // namespace fabula
