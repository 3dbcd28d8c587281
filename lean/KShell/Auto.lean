module

public import KShell.Auto.Arrays
public import KShell.Auto.Both
public import KShell.Auto.Fold
public import KShell.Auto.Online
public import KShell.Auto.Rows
public import KShell.Auto.Thread
public import KShell.Auto.Warps
public import KShell.Auto.Window
public import KShell.Rules.Grid

/-!
# What the files of the automatic prover import
-/
