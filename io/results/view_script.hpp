// The script view.py, which opens a series in ParaView in a good view: the text of io/results/view.py, which the build
// puts into the program.
#pragma once

#include <string_view>

namespace carom {

std::string_view view_script();

}  // namespace carom
