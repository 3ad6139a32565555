SetFactory("OpenCASCADE");
Box(1) = {0, 0, 0, 1, 1, 1};
SystemCall "touch folder/written";
