// BouncingContacts: impacts that follow each other faster than steps do.
//
// A method whose impacts act at the end of the step has one impact of a contact in two steps at most, and the body
// stays at the contact for the rest of the step. A body that rattles between two obstacles, a few steps or less from
// one to the other, then has fewer impacts than its law asks for and keeps energy that they would take. Its impacts
// return to a contact within six steps, at a rate that the smooth motion of the step hardly changes: no force brings
// the body back in this step, as in bounces that accumulate, but another contact, or a vibration of as few steps.
#pragma once

#include "core/base/named_arrays.hpp"
#include "core/mechanics/system.hpp"

namespace carom {

class BouncingContacts {
 public:
  void start(const System& system);
  /// An impact of a contact with restitution, the number of which among the conditional rows is `contact`, at time t,
  /// behind a motion of duration h; its gap rates at the start of the step and behind the smooth motion.
  void note(std::size_t contact, double t, double h, double rate_n, double rate_smooth);
  struct Returns {
    int contact = -1;  ///< number among the conditional rows; -1: none
    long count = 0;
  };
  /// The contact with most returns, if they are many, or most of its impacts.
  Returns most() const;

  void save(NamedArrays& record) const;
  void restore(const NamedArrays& record);

 private:
  Vector last_, impacts_, returns_, fastest_;  // of each contact: time of the last impact, numbers, largest rate
};

}  // namespace carom
