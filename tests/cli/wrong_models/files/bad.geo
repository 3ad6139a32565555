Point(1) = {0, 0, 0};
Point(2) = {x, 0, 0};
