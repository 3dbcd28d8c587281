theorem square_not_negative (a : R) : 0 ≤ a * a := by
  rcases Std.IsLinearPreorder.le_total 0 a with h | h
  · exact OrderedRing.mul_nonneg h h
  · have := OrderedRing.mul_nonneg (a := -a) (b := -a) (by grind) (by grind)
    grind

theorem root_of_square (a : R) : sqrt (a * a) = absR a := by
  rcases Std.IsLinearPreorder.le_total 0 a with h | h
  · rw [sqrt_sq a h]
    simp only [absR]; grind
  · have e : a * a = (-a) * (-a) := by grind
    rw [e, sqrt_sq (-a) (by grind)]
    simp only [absR]; grind

theorem o7 {E : Env R} {P : Perm R} {X0 : Int → R} {bX tX : Int} (T : Thread E P bX tX) (g0 : ((bX * 256 + tX) < 16384)) :
    ((ofRat 1 2) * ((X0 (bX * 256 + tX)) + (sqrt ((X0 (bX * 256 + tX)) * (X0 (bX * 256 + tX)))))) = Y1 X0 (bX * 256 + tX) := by
  have r1 : ∀ u : R, (ofRat 1 2) * (u + sqrt (u * u)) = maxR u (ofRat 0 1) := by
    intro u
    rw [root_of_square]
    simp only [maxR, absR, lit0, lit1, ofRat_one, ofInt_zero, ofInt_one] <;> grind
  exact r1 (X0 (bX * 256 + tX))

theorem o8 {E : Env R} {P : Perm R} {X0 : Int → R} {bX tX : Int} (T : Thread E P bX tX) (g0 : ((bX * 256 + tX) < 16384)) :
    ∀ σ : St R, A7 X0 bX tX σ → ((.store 1 (.var 0) (.bin .mul (.lit 1 2) (.bin .add (.var 0) (.fn .sqrt (.bin .mul (.var 1) (.var 2)))))) : Stmt).wp E P (A3 X0 bX tX) σ := by
  intro σ h
  obtain ⟨H0, n0, r0, r1, r2, _⟩ := h
  have hT := T
  obtain ⟨bX_low, bX_high, tX_low, tX_high, tid_x, bid_x, bdim_x, param0, size0, size1, rd0, rd1, wr1⟩ := T
  have hm : mine bX tX (bX * 256 + tX) := by simp only [mine]; omega
  refine wp_store_at (j := (bX * 256 + tX)) (v := .fin ((ofRat 1 2) * ((X0 (bX * 256 + tX)) + (sqrt ((X0 (bX * 256 + tX)) * (X0 (bX * 256 + tX))))))) ?_ ?_ (by omega) ?_ ?_ (wr1 _ _ hm) ?_
  · (simp (disch := omega) only [IExpr.val, IExpr.ok, IntOp.fn, IntOp.defined, IntTy.inRange, IntTy.low, IntTy.high, IntTy.bits, true_and, and_true, not_false_eq_true, Int.reduceToNat, Int.reducePow, Int.tdiv_eq_ediv_of_nonneg, Int.tmod_eq_emod_of_nonneg, n0, r0, r1, r2, tid_x, bid_x, bdim_x, param0]) <;> omega
  · (simp (disch := omega) only [IExpr.val, IExpr.ok, IntOp.fn, IntOp.defined, IntTy.inRange, IntTy.low, IntTy.high, IntTy.bits, true_and, and_true, not_false_eq_true, Int.reduceToNat, Int.reducePow, Int.tdiv_eq_ediv_of_nonneg, Int.tmod_eq_emod_of_nonneg, n0, r0, r1, r2, tid_x, bid_x, bdim_x, param0]) <;> omega
  · have hd : True := trivial
    have square := square_not_negative (X0 (bX * 256 + tX))
    (simp (disch := omega) only [RExpr.val, RExpr.ok, RealOp.fn, RealOp.defined, RealFn.fn, RealFn.real, RealFn.defined, Ext.add_fin, Ext.sub_fin, Ext.mul_fin, Ext.div_fin, Ext.max_fin, Ext.min_fin, Ext.map_fin, Ext.exp_fin, Ext.isFin_fin, Nat.reduceEqDiff, BExpr.val, BExpr.ok, implies_true, CmpOp.intProp, CmpOp.ext, Ext.lt_fin, Ext.le_fin, IExpr.val, IExpr.ok, IntOp.fn, IntOp.defined, IntTy.inRange, IntTy.low, IntTy.high, IntTy.bits, true_and, and_true, not_false_eq_true, Int.reduceToNat, Int.reducePow, Int.tdiv_eq_ediv_of_nonneg, Int.tmod_eq_emod_of_nonneg, n0, r0, r1, r2, tid_x, bid_x, bdim_x, param0]) <;> ((repeat' (first | (refine And.intro ?_ ?_) | intro _)) <;> first | trivial | omega | ((try simp only [lit0, lit1, ofRat_one, ofInt_zero, ofInt_one] at *) <;> grind))
  · simp (disch := omega) only [RExpr.val, RExpr.ok, RealOp.fn, RealOp.defined, RealFn.fn, RealFn.real, RealFn.defined, Ext.add_fin, Ext.sub_fin, Ext.mul_fin, Ext.div_fin, Ext.max_fin, Ext.min_fin, Ext.map_fin, Ext.exp_fin, Ext.isFin_fin, Nat.reduceEqDiff, BExpr.val, BExpr.ok, implies_true, CmpOp.intProp, CmpOp.ext, Ext.lt_fin, Ext.le_fin, IExpr.val, IExpr.ok, IntOp.fn, IntOp.defined, IntTy.inRange, IntTy.low, IntTy.high, IntTy.bits, true_and, and_true, not_false_eq_true, Int.reduceToNat, Int.reducePow, Int.tdiv_eq_ediv_of_nonneg, Int.tmod_eq_emod_of_nonneg, n0, r0, r1, r2, tid_x, bid_x, bdim_x, param0]
  · exact ⟨(H0.set (by decide)), (Done.first (congrArg Ext.fin (o7 (X0 := X0) hT g0)) (by intro i i0 i1 im ic; simp only [mine] at im; omega)), trivial⟩
