#include "integrators/common/bouncing_contacts.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>

namespace carom {

namespace {
constexpr double soon = 6.5;       // steps between two impacts of a contact
constexpr double unchanged = 0.1;  // of the rate
constexpr double slow = 0.01;      // of the largest rate of the contact: what remains at the end of its bounces
constexpr double many = 10, few = 2;
}  // namespace

void BouncingContacts::start(const System& system) {
  const std::size_t contacts = at(system.conditional());
  if (last_.size() == contacts) return;  // restored
  last_.assign(contacts, -std::numeric_limits<double>::max());
  for (Vector* x : {&impacts_, &returns_, &fastest_}) x->assign(contacts, 0.0);
}

void BouncingContacts::note(std::size_t contact, double t, double h, double rate_n, double rate_smooth) {
  const bool returns = t - last_[contact] <= soon * h;
  last_[contact] = t;
  fastest_[contact] = std::max(fastest_[contact], -rate_smooth);
  if (!(-rate_smooth > slow * fastest_[contact])) return;
  ++impacts_[contact];
  if (returns && rate_n < 0 && std::abs(rate_smooth - rate_n) <= unchanged * -rate_n) ++returns_[contact];
}

BouncingContacts::Returns BouncingContacts::most() const {
  Returns most;
  for (std::size_t i = 0; i < returns_.size(); ++i)
    if ((returns_[i] > many || (returns_[i] >= few && 2 * returns_[i] > impacts_[i])) &&
        returns_[i] > static_cast<double>(most.count))
      most = {static_cast<int>(i), std::lround(returns_[i])};
  return most;
}

void BouncingContacts::save(NamedArrays& record) const {
  record.set("last impacts", last_);
  record.set("impacts of contacts", impacts_);
  record.set("returning impacts", returns_);
  record.set("fastest impacts", fastest_);
}

void BouncingContacts::restore(const NamedArrays& record) {
  const Vector *const last = record.find("last impacts"), *const impacts = record.find("impacts of contacts"),
                      *const returns = record.find("returning impacts"),
                      *const fastest = record.find("fastest impacts");
  for (const Vector* x : {last, impacts, returns, fastest})
    if (x == nullptr || x->size() != last->size())
      throw std::invalid_argument("BouncingContacts: the record does not fit");
  last_ = *last;
  impacts_ = *impacts;
  returns_ = *returns;
  fastest_ = *fastest;
}

}  // namespace carom
