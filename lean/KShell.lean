module

public import KShell.Scalar.Basic
public import KShell.Scalar.Ext
public import KShell.Scalar.Fold
public import KShell.Scalar.Butterfly
public import KShell.Syntax
public import KShell.Eval
public import KShell.Machine
public import KShell.Meaning
public import KShell.Spec
public import KShell.Rules.Expr
public import KShell.Rules.Thread
public import KShell.Rules.Warp
public import KShell.Rules.Run
public import KShell.Rules.Block
public import KShell.Rules.Phase
public import KShell.Rules.Uniform
public import KShell.Rules.Shuffle
public import KShell.Rules.Grid
public import KShell.Sound.Lane
public import KShell.Sound.Block
public import KShell.Sound.Grid
public import KShell.Sound.Finite
public import KShell.Sound.Thread
public import KShell.Sound.Vacuity
public import KShell.Scalar.Model
public import KShell.Auto
