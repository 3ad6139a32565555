// Exceptions that cross folder borders. A step that does not converge is not an exception: see StepReport.
#pragma once

#include <stdexcept>
#include <string>
#include <utility>

namespace carom {

/// The user's model is wrong. `pointer` is the JSON pointer of the wrong value ("/joints/0/of/1"), as far as known.
class ModelError : public std::runtime_error {
 public:
  ModelError(std::string pointer, const std::string& message)
      : std::runtime_error(message), pointer_(std::move(pointer)) {}
  const std::string& pointer() const { return pointer_; }

 private:
  std::string pointer_;
};

/// A file or disk could not be read or written.
class FileError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

}  // namespace carom
