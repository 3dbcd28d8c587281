module

public import KShell.Rules.Grid
public import KShell.Layout
public import KShell.Sound.Vacuity
public import KShell.Scalar.Model

/-!
# In place

A ReLU that is correct with its buffers apart and in place, by hand, and a kernel that is correct with
its buffers apart and wrong in place: the statement about it is false, not merely unproved.
-/

@[expose] public section
noncomputable section
namespace KShell.Tests.InPlace
open KShell Lean.Grind
open scoped Classical

/-- The index of a thread. -/
abbrev index : Stmt :=
  .seti 0 (.bin .add .i32 (.bin .mul .i32 (.special .bid .x) (.special .bdim .x)) (.special .tid .x))

/-- `if (i < n) { code }`. -/
abbrev guarded (code : Stmt) : Stmt := .seq index (.ite (.icmp .lt (.var 0) (.param 0)) code .skip)

/-- `y[i] = fmaxf(x[i], 0.0f);` with `y` in buffer `y`. -/
abbrev relu (y : Nat) : Stmt := .seq (.load 0 0 (.var 0)) (.store y (.var 0) (.bin .max (.var 0) (.lit 0 1)))

/-- `<<<64, 256>>>(x, y, 16384)`. -/
abbrev launch (code : Stmt) : Launch where
  kernel := ⟨[⟨.global, 16384⟩, ⟨.global, 16384⟩], guarded code⟩
  grid := ⟨64, 1, 1⟩
  block := ⟨256, 1, 1⟩
  args := [.int 16384]

/-- The launch with `y` in the buffer of `x`. -/
abbrev launchShared (code : Stmt) : Launch :=
  { launch code with kernel := ⟨[⟨.global, 16384⟩, ⟨.global, 0⟩], guarded code⟩ }

/-- `y[i] = max(x[i], 0)`. -/
def output : OutputSpec where
  buffer := 1
  vars := [(0, 16384)]
  body := .bin .max (.read 0 [16384] [.var 0]) (.const 0 1)

/-- `y` in the buffer of `x`. -/
abbrev shared : Layout := [(1, 0)]

/-! The same code, its accesses to `y` in the buffer of `x`. -/

theorem apart_eq (code : Stmt) (h : code.inLayout [] = code) : (launch code).inLayout [] = launch code := by
  simp [Launch.inLayout, Stmt.inLayout, h]; decide
theorem shared_eq : (launch (relu 1)).inLayout shared = launchShared (relu 0) := by rfl
example : (output.inLayout shared).buffer = 0 := by rfl
example : Layout.buffer [(3, 1), (4, 2)] 4 = 2 ∧ Layout.buffer [(3, 1), (4, 2)] 0 = 0 := by decide

variable {R : Type} [ExactReal R]

theorem denote (l : Layout) (x : Nat → Int → R) (i : Int) : (output.inLayout l).denote x i = maxR (x 0 i) 0 := by
  simp [OutputSpec.inLayout, output, OutputSpec.denote, SExpr.denote, flatIndex, Ix.denote, unflatten, bindIx,
    RealOp.real]

/-- The owner of a cell. -/
abbrev owner (_ : Nat) (i : Int) : Int × Int := (i / 256, i % 256)

/-- What is left to show of a launch of this shape that writes `f` into buffer `o.buffer`: one thread. -/
theorem of_thread {L : Launch} {o : OutputSpec} {f : (Int → R) → Int → R} (hv : L.Valid) (hg : L.grid = ⟨64, 1, 1⟩)
    (hb : L.block = ⟨256, 1, 1⟩) (hs : ∀ a, L.space a ≠ .shared) (ho : o.size = 16384)
    (hd : ∀ x i, o.denote x i = f (x 0) i)
    (h : ∀ (x : Int → R) (M : Mem R), (∀ i : Int, 0 ≤ i → i < 16384 → M 0 i = some (.fin (x i))) →
      ∀ (b t : Int) (r : Reg R), 0 ≤ b → b < 64 → 0 ≤ t → t < 256 →
      L.kernel.body.wp (L.env b t) (tperm (· = o.buffer) owner b t)
        (fun σ => ∀ i : Int, owner 0 i = (b, t) → σ.mem o.buffer i = some (.fin (f x i))) ⟨r, M⟩) :
    Correct R [L] [(0, 16384)] [o] [] := by
  intro x M hM
  refine elementwise_rule hv hs (· = o.buffer) owner
    (fun a i v => a = o.buffer → v = some (.fin (f (x 0) i))) ?_ ?_
  · intro b t r b0 b1 t0 t1 _
    simp only [hg, hb, Dim3.count] at b1 t1
    exact Stmt.wp_mono _ _ _ _ (fun σ hσ a i ha he _ => by subst ha; exact hσ i he)
      (h (x 0) M (hM (0, 16384) (by simp)) b t r b0 (by omega) t0 (by omega))
  · intro M' H1 H2
    refine ⟨fun o' ho' i i0 i1 => ?_, fun a i ha _ => H2 a i (.inl fun h => ha (by simp [h]))⟩
    simp only [List.mem_singleton] at ho'; subst ho'
    rw [hd]
    refine H1 _ i rfl ?_ rfl
    rw [ho] at i1
    simp only [Launch.has, hg, hb, Dim3.count]; omega

local macro "one_thread" : tactic => `(tactic| (
  intro x M hx b t r b0 b1 t0 t1
  have e1 : t % 256 = t := by omega
  have e2 : b % 64 = b := by omega
  simp +contextual (disch := omega) [output, OutputSpec.inLayout, Layout.buffer, Launch.env, Launch.size, Dim3.coord,
    Dim3.get, Arg.toInt, hx, Mem.set, e1, e2]
  (repeat' (first | (refine And.intro ?_ ?_) | intro _)) <;> first | omega | grind))

local macro "no_shared" : tactic => `(tactic| (
  intro a; rcases a with _ | _ | a <;> simp [Launch.space]))

/-- Apart and in place. -/
theorem relu_correct : CorrectIn R [[], shared] [launch (relu 1)] [(0, 16384)] [output] [] := by
  intro l hl
  simp only [List.mem_cons, List.not_mem_nil, or_false] at hl
  rcases hl with rfl | rfl
  · rw [List.map_singleton, apart_eq _ rfl]
    exact of_thread (f := fun x i => maxR (x i) 0) (by decide) rfl rfl (by no_shared) rfl (denote _) (by one_thread)
  · rw [List.map_singleton, shared_eq]
    exact of_thread (f := fun x i => maxR (x i) 0) (by decide) rfl rfl (by no_shared) rfl (denote _) (by one_thread)

/-- The premise can be met in every layout: it speaks of the inputs only. -/
example (x : Nat → Int → R) : ∃ M, Placed [(0, 16384)] x M :=
  ⟨fun a i => some (.fin (x a i)), fun _ _ _ _ _ => rfl⟩

/-! ### What must not prove -/

/-- `y[i] = 0.0f; y[i] = fmaxf(x[i], 0.0f);` forgets `x[i]` when `y` is `x`. -/
abbrev clearing (y : Nat) : Stmt := .seq (.store y (.var 0) (.lit 0 1)) (relu y)

/-- With its buffers apart it is correct. -/
theorem clearing_apart : CorrectIn R [[]] [launch (clearing 1)] [(0, 16384)] [output] [] := by
  intro l hl
  simp only [List.mem_singleton] at hl; subst hl
  rw [List.map_singleton, apart_eq _ rfl]
  exact of_thread (f := fun x i => maxR (x i) 0) (by decide) rfl rfl (by no_shared) rfl (denote _) (by one_thread)

/-- What it computes in place. -/
def zeros : OutputSpec := { output with buffer := 0, body := .const 0 1 }

theorem clearing_gives_zeros : Correct R [launchShared (clearing 0)] [(0, 16384)] [zeros] [] :=
  of_thread (f := fun _ _ => 0) (by decide) rfl rfl (by no_shared) rfl
    (fun x i => by simp [zeros, output, OutputSpec.denote, SExpr.denote])
    (by
      intro x M hx b t r b0 b1 t0 t1
      have e1 : t % 256 = t := by omega
      have e2 : b % 64 = b := by omega
      have e3 : (maxR 0 0 : R) = 0 := maxR_self 0
      simp +contextual (disch := omega) [zeros, output, Launch.env, Launch.size, Dim3.coord, Dim3.get, Arg.toInt, hx,
        Mem.set, e1, e2, e3]
      (repeat' (first | (refine And.intro ?_ ?_) | intro _)) <;> first | omega | grind)

/-- In place its statement is false, not merely unproved. -/
theorem clearing_is_wrong_in_place :
    ¬ CorrectIn Rat [[], shared] [launch (clearing 1)] [(0, 16384)] [output] [] := by
  intro h
  have e : (launch (clearing 1)).inLayout shared = launchShared (clearing 0) := by rfl
  have h0 := h shared (by simp)
  rw [List.map_singleton, List.map_singleton, e] at h0
  have h1 := h0 (fun _ _ => 1) (fun _ _ => some (.fin 1)) (fun _ _ _ _ _ => rfl)
  have h2 := clearing_gives_zeros (R := Rat) (fun _ _ => 1) (fun _ _ => some (.fin 1)) (fun _ _ _ _ _ => rfl)
  obtain ⟨M', g1, g2⟩ := RunsAll.meet _ h1 h2
  have e1 := g1.1 (output.inLayout shared) (by simp) 0 (by omega) (by decide)
  have e2 := g2.1 zeros (by simp) 0 (by omega) (by decide)
  rw [show (output.inLayout shared).buffer = zeros.buffer from rfl, e2, denote] at e1
  simp [zeros, output, OutputSpec.denote, SExpr.denote, maxR] at e1
  exact absurd e1 (by decide)

end KShell.Tests.InPlace
