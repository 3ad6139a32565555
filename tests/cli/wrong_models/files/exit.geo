Exit;
