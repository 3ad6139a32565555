// The words of a study's command line: lists, numbers, windows of time, expected orders, keys of the integrator.
#pragma once

#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "io/model/model_document.hpp"
#include "io/schema/spec.hpp"

namespace carom {

/// The request is impossible; the message is for the user.
struct StudyError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// The parts between the separators, as they are; separators inside of brackets, braces and double quotes do not count.
std::vector<std::string> split_words(const std::string& text, char separator);
/// The values of "--vary KEY=value,value": two or more, different from each other, none empty. Throws StudyError.
std::vector<std::string> varied_words(const std::string& list);
/// A finite number, if the whole word is one.
std::optional<double> number_of(const std::string& word);
/// A number in the given format of fmt, "-" without.
std::string optional_text(const std::optional<double>& x, const char* format);

/// Values of a list "a,b,c": at least `least`, different from each other, > 0. `option` is named in messages. Throws
/// StudyError.
std::vector<double> positive_numbers(const std::vector<std::string>& words, const std::string& option,
                                     std::size_t least);

/// A closed interval of time.
struct TimeWindow {
  double from = 0, to = 0;
  /// slack: a small part of a step, because a time k h is rounded.
  bool contains(double t, double slack) const { return t >= from - slack && t <= to + slack; }
  /// "t = 0.1 to 0.5"
  std::string text() const;
};
/// Reads "T0,T1". Throws StudyError unless these are two numbers with T0 < T1.
TimeWindow time_window(const std::string& text);
/// Throws StudyError if none of the multiples of `step` from `start`, up to the end, lies in the window.
void check_window(const std::optional<TimeWindow>& window, double start, double duration, double step);

struct ExpectedOrder {
  std::string name;
  double order = 0, tolerance = 0;
};
/// Reads "NAME=ORDER+-TOLERANCE". Throws StudyError.
ExpectedOrder expected_order(const std::string& text);

/// The places below a declaration at which a key stands: one of that bare name at any depth, "tolerance", or that of a
/// path, "newton/tolerance". Pointers begin with `path`. `names`, if given, gets the bare names of all keys.
std::vector<std::string> places_of_key(const spec::Node& node, const std::string& key, const std::string& path,
                                       std::vector<std::string>* names = nullptr);

/// The pointer of a key that is given as a pointer, or by its bare name in the integrator section of the model, at any
/// depth: "force_corrections", "max_iterations". Throws StudyError if the name is unknown, or stands for several keys.
/// `parameters`: whether a bare name may also be that of a parameter.
std::string pointer_of_key(const std::string& key, const std::string& option, const ModelDocument& document,
                           bool parameters = false);

/// The unit of the value at a pointer of the model, by its declaration; empty without one, and if the model's tables
/// have no units.
std::string unit_of_key(const std::string& pointer, const ModelDocument& document);

}  // namespace carom
