// The cube of [DS20] 4.4: 5 x 5 x 5 equal hexahedra.
L = 0.1; n = 5;
Point(1) = {-L/2, -L/2, -L/2};
line[] = Extrude {L, 0, 0} { Point{1}; Layers{n}; };
square[] = Extrude {0, L, 0} { Line{line[1]}; Layers{n}; Recombine; };
cube[] = Extrude {0, 0, L} { Surface{square[1]}; Layers{n}; Recombine; };
Physical Volume("foam") = {cube[1]};
Physical Surface("bottom") = {square[1]};
Physical Surface("top") = {cube[0]};
