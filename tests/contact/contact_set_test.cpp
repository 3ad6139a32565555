#include "contact/law/contact_set.hpp"

#include <doctest/doctest.h>

using namespace carom;

TEST_CASE("active set: a row is active where its multiplier exceeds the penalty times its value") {
  ContactSet set;
  set.resize(10, 4);
  set.reset();
  // open, penetrating, touching, penetrating
  CHECK(set.update(Vector{0.5, -0.1, 0.0, -2.0}, 3) == 2);
  CHECK(std::vector<int>(set.active_rows().begin(), set.active_rows().end()) == std::vector<int>{11, 13});
  CHECK_FALSE(set.active_rows().empty());
  set.add_increment(Vector{4, 1});
  CHECK(set.multipliers() == Vector{0, 4, 0, 1});
  CHECK(set.augmented(1, 0.5, 3) == 2.5);

  // a positive multiplier keeps a row with a small positive value active; a larger value, or a negative multiplier,
  // opens it
  CHECK(set.update(Vector{0.5, 1.0, 0.0, 0.5}, 3) == 1);
  CHECK(std::vector<int>(set.active_rows().begin(), set.active_rows().end()) == std::vector<int>{11});
  CHECK(set.multipliers() == Vector{0, 4, 0, 0});
  set.add_increment(Vector{-5});
  CHECK(set.update(Vector{0.5, 0.0, 0.0, 0.5}, 3) == 1);
  CHECK(set.active_rows().empty());
  CHECK(set.multipliers() == Vector{0, 0, 0, 0});
}

TEST_CASE("active set: rows that are no candidates stay inactive, until the set is reset") {
  ContactSet set;
  set.resize(0, 3);
  set.reset();
  const std::vector<std::uint8_t> flags = {1, 0, 1};
  set.restrict_to(flags);
  CHECK(set.update(Vector{-1, -1, -1}, 1) == 2);
  CHECK(set.flags() == flags);
  set.reset();
  CHECK(set.active_rows().empty());
  CHECK(set.update(Vector{-1, -1, -1}, 1) == 3);
}

TEST_CASE("active set: a set that keeps changing is at last changed one row at a time, the first one") {
  ContactSet set;
  set.resize(0, 2);
  set.reset();
  int changed = 2;
  for (int i = 0; i < 40 && changed == 2; ++i) changed = set.update(i % 2 == 0 ? Vector{-1, -1} : Vector{1, 1}, 1);
  CHECK(changed == 1);
  CHECK(set.flags()[0] != set.flags()[1]);
}
