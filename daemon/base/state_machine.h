// StateMachine: a state that changes only by the moves of its table. move_to() is its only writer;
// a move that the table does not have is a defect and ends the process.
//
// The table stands in the source of the class that has the state, and the same moves as a diagram
// at the head of its header. `make lint` compares the two (tests/lint/state_machines.py). A line of
// a diagram is a chain "a -> b, c -> d", in which each state of a step goes to each one of the
// next; two spaces end it, and a remark follows. One thread.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>

#include "daemon/base/assertion.h"

namespace seqd {

// Constant; `State` is an enum class of at most kMost states.
template <typename State>
class StateTable {
 public:
  static constexpr std::size_t kMost = 8;
  struct Row {
    State state;
    std::string_view name;
    std::initializer_list<State> next;
  };

  constexpr StateTable(std::initializer_list<Row> rows) {
    for (const Row& row : rows) {
      names_[index(row.state)] = row.name;
      for (const State next : row.next) next_[index(row.state)] |= bit(next);
    }
  }

  constexpr bool allows(State from, State to) const { return (next_[index(from)] & bit(to)) != 0; }
  constexpr std::string_view name(State state) const { return names_[index(state)]; }

 private:
  static constexpr std::size_t index(State state) { return static_cast<std::size_t>(state); }
  static constexpr unsigned bit(State state) { return 1U << index(state); }

  std::array<std::string_view, kMost> names_{};
  std::array<unsigned, kMost> next_{};
};

template <typename State>
class StateMachine {
 public:
  // The table outlives this.
  StateMachine(const StateTable<State>& table, State first) : table_(table), state_(first) {}

  State state() const { return state_; }
  bool operator==(State other) const { return state_ == other; }

  void move_to(State next, const char* file = __builtin_FILE(), int line = __builtin_LINE()) {
    if (!table_.allows(state_, next)) {
      const std::string move =
          "move " + std::string(table_.name(state_)) + " -> " + std::string(table_.name(next));
      assertion_failed(file, line, move.c_str());
    }
    state_ = next;
  }

 private:
  const StateTable<State>& table_;
  State state_;
};

}  // namespace seqd
