Macro descend
  Call descend;
Return
Call descend;
