module

/-!
# The machine

The trusted meaning of concurrency. A thread is a tree of atomic loads and stores, warp shuffles, warp
synchronisations and block barriers. A step moves any thread of any block, so a run is an arbitrary
interleaving. A shuffle exchanges values between the 32 lanes of a warp and orders no memory; only
`__syncwarp` and `__syncthreads` do. Accesses are logged until the synchronisation that orders them, and
`Racing` says that a thread is about to make an access that conflicts with an unordered one.
-/

@[expose] public section
namespace KShell

/-- The run of one thread. `C` are cells, `V` values. `site` numbers the place in the program text. -/
inductive Tree (C V : Type) where
  /-- The thread has exited. -/
  | ret
  /-- The thread has done something undefined. -/
  | fault
  /-- Atomic read of a cell. -/
  | load (c : C) (k : V → Tree C V)
  /-- Atomic write of a cell. -/
  | store (c : C) (v : V) (k : Tree C V)
  /-- Warp shuffle: offers a value, continues with the values of all 32 lanes. -/
  | shfl (site : Nat) (x : V) (k : (Nat → V) → Tree C V)
  /-- `__syncwarp()`. -/
  | sync (site : Nat) (k : Tree C V)
  /-- `__syncthreads()`. -/
  | bar (site : Nat) (k : Tree C V)

/-- Contents of the cells; `none` is uninitialised. -/
abbrev Heap (C V : Type) := C → Option V

open scoped Classical in
/-- Write a cell. -/
noncomputable def Heap.set {C V : Type} (m : Heap C V) (c : C) (v : V) : Heap C V :=
  fun d => if d = c then some v else m d

/-- Kind of an access; a write carries its value. -/
inductive Access (V : Type) where
  | read
  | write (v : V)

/-- Two accesses of one cell by two threads conflict unless both read. -/
def Access.Conflict {V : Type} : Access V → Access V → Prop
  | .read, .read => False
  | _, _ => True

/-- Inside a warp, writes of one and the same value do not conflict: the hardware performs one of the
simultaneous stores, and the cell holds that value whichever it is. -/
def Access.WarpConflict {V : Type} : Access V → Access V → Prop
  | .read, .read => False
  | .write v, .write v' => v ≠ v'
  | _, _ => True

/-- The accesses that are not ordered yet, each seen from three distances. -/
structure Log (C V : Type) where
  /-- Cell, block, warp, lane: accesses since the last synchronisation of the warp or the block. -/
  lane : C → Nat → Nat → Nat → Access V → Prop
  /-- Cell, block, warp: accesses since the last synchronisation of the block. -/
  warp : C → Nat → Nat → Access V → Prop
  /-- Cell, block: accesses since the launch. -/
  block : C → Nat → Access V → Prop

/-- Nothing logged. -/
def Log.empty {C V : Type} : Log C V := ⟨fun _ _ _ _ _ => False, fun _ _ _ _ => False, fun _ _ _ => False⟩

/-- Add an access of cell `c` by lane `l` of warp `w` of block `b`. -/
def Log.add {C V : Type} (g : Log C V) (c : C) (b w l : Nat) (a : Access V) : Log C V where
  lane c' b' w' l' a' := g.lane c' b' w' l' a' ∨ (c' = c ∧ b' = b ∧ w' = w ∧ l' = l ∧ a' = a)
  warp c' b' w' a' := g.warp c' b' w' a' ∨ (c' = c ∧ b' = b ∧ w' = w ∧ a' = a)
  block c' b' a' := g.block c' b' a' ∨ (c' = c ∧ b' = b ∧ a' = a)

/-- `__syncwarp` orders the accesses of the lanes of one warp. -/
def Log.syncWarp {C V : Type} (g : Log C V) (b w : Nat) : Log C V :=
  { g with lane := fun c' b' w' l' a' => g.lane c' b' w' l' a' ∧ ¬ (b' = b ∧ w' = w) }

/-- `__syncthreads` orders the accesses of the threads of one block. -/
def Log.syncBlock {C V : Type} (g : Log C V) (b : Nat) : Log C V :=
  { g with
    lane := fun c' b' w' l' a' => g.lane c' b' w' l' a' ∧ b' ≠ b
    warp := fun c' b' w' a' => g.warp c' b' w' a' ∧ b' ≠ b }

/-- The access `a` of cell `c` by lane `l` of warp `w` of block `b` conflicts with a logged access of
another thread that nothing orders before it. -/
def Log.Unordered {C V : Type} (g : Log C V) (c : C) (b w l : Nat) (a : Access V) : Prop :=
  (∃ l' a', l' ≠ l ∧ g.lane c b w l' a' ∧ a'.WarpConflict a) ∨
  (∃ w' a', w' ≠ w ∧ g.warp c b w' a' ∧ a'.Conflict a) ∨
  (∃ b' a', b' ≠ b ∧ g.block c b' a' ∧ a'.Conflict a)

/-- A state: the rest of the run of every thread (by block, warp, lane), the cells, the log. -/
structure Config (C V : Type) where
  /-- Threads by block, warp and lane. -/
  thread : Nat → Nat → Nat → Tree C V
  /-- Cells. -/
  mem : Heap C V
  /-- Unordered accesses. -/
  log : Log C V

/-- Replace one entry of a function on numbers. -/
def upd {α : Type} (f : Nat → α) (i : Nat) (x : α) : Nat → α := fun j => if j = i then x else f j

/-- All 32 lanes stand at one shuffle, offering `x` and continuing with `k`. An exited lane leaves the
others stuck: every lane that the full mask names must take part. -/
def AtShfl {C V : Type} (th : Nat → Tree C V) (site : Nat) (x : Nat → V)
    (k : Nat → (Nat → V) → Tree C V) : Prop :=
  ∀ l, l < 32 → th l = .shfl site (x l) (k l)

/-- Every lane that has not exited stands at one `__syncwarp`, and there is one. -/
def AtSync {C V : Type} (th : Nat → Tree C V) (site : Nat) (k : Nat → Tree C V) : Prop :=
  (∀ l, l < 32 → th l = .sync site (k l) ∨ (th l = .ret ∧ k l = .ret)) ∧
    ∃ l, l < 32 ∧ th l = .sync site (k l)

/-- Every thread of the block that has not exited stands at one `__syncthreads`, and there is one. -/
def AtBar {C V : Type} (nw : Nat) (th : Nat → Nat → Tree C V) (site : Nat) (k : Nat → Nat → Tree C V) :
    Prop :=
  (∀ w l, w < nw → l < 32 → th w l = .bar site (k w l) ∨ (th w l = .ret ∧ k w l = .ret)) ∧
    ∃ w l, w < nw ∧ l < 32 ∧ th w l = .bar site (k w l)

/-- One step of `nb` blocks of `nw` warps of 32 lanes. A thread at a fault, at an uninitialised cell or at
a collective that its partners never reach cannot move. -/
inductive Step {C V : Type} (nb nw : Nat) : Config C V → Config C V → Prop where
  | load (s : Config C V) (b w l c k v) : b < nb → w < nw → l < 32 →
      s.thread b w l = .load c k → s.mem c = some v →
      Step nb nw s ⟨upd s.thread b (upd (s.thread b) w (upd (s.thread b w) l (k v))), s.mem,
        s.log.add c b w l .read⟩
  | store (s : Config C V) (b w l c v k) : b < nb → w < nw → l < 32 →
      s.thread b w l = .store c v k →
      Step nb nw s ⟨upd s.thread b (upd (s.thread b) w (upd (s.thread b w) l k)), s.mem.set c v,
        s.log.add c b w l (.write v)⟩
  | shfl (s : Config C V) (b w site x k) : b < nb → w < nw → AtShfl (s.thread b w) site x k →
      Step nb nw s ⟨upd s.thread b (upd (s.thread b) w (fun l => k l (fun i => x (i % 32)))), s.mem, s.log⟩
  | sync (s : Config C V) (b w site k) : b < nb → w < nw → AtSync (s.thread b w) site k →
      Step nb nw s ⟨upd s.thread b (upd (s.thread b) w k), s.mem, s.log.syncWarp b w⟩
  | bar (s : Config C V) (b site k) : b < nb → AtBar nw (s.thread b) site k →
      Step nb nw s ⟨upd s.thread b k, s.mem, s.log.syncBlock b⟩

/-- Any number of steps: a run. -/
inductive Steps {C V : Type} (nb nw : Nat) : Config C V → Config C V → Prop where
  | refl (s) : Steps nb nw s s
  | tail {s t u} : Steps nb nw s t → Step nb nw t u → Steps nb nw s u

/-- A thread is about to make an access that conflicts with an unordered access of another thread. -/
def Racing {C V : Type} (nb nw : Nat) (s : Config C V) : Prop :=
  ∃ b w l, b < nb ∧ w < nw ∧ l < 32 ∧
    ((∃ c k, s.thread b w l = .load c k ∧ s.log.Unordered c b w l .read) ∨
     (∃ c v k, s.thread b w l = .store c v k ∧ s.log.Unordered c b w l (.write v)))

/-- A thread has done something undefined, or is about to read an uninitialised cell. -/
def Faulty {C V : Type} (nb nw : Nat) (s : Config C V) : Prop :=
  ∃ b w l, b < nb ∧ w < nw ∧ l < 32 ∧
    (s.thread b w l = .fault ∨ ∃ c k, s.thread b w l = .load c k ∧ s.mem c = none)

/-- All threads have exited. -/
def Finished {C V : Type} (nb nw : Nat) (s : Config C V) : Prop :=
  ∀ b w l, b < nb → w < nw → l < 32 → s.thread b w l = .ret

/-- No infinite run starts here. -/
def Terminates {C V : Type} (nb nw : Nat) (s : Config C V) : Prop :=
  Acc (fun t s => Step nb nw s t) s

end KShell
