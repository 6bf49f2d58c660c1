package observe

import (
	"context"
	"errors"

	"github.com/leakgate/leakgate/internal/engine/attribute"
	"github.com/leakgate/leakgate/internal/engine/nativeheap"
	"github.com/leakgate/leakgate/internal/engine/nativeholders"
	"github.com/leakgate/leakgate/internal/engine/snapshot"
	"github.com/leakgate/leakgate/internal/symbol"
	"github.com/leakgate/leakgate/internal/textfmt"
	"github.com/leakgate/leakgate/leakcheck/internal/naming"
	"github.com/leakgate/leakgate/refscan"
)

// NativeHolders takes a snapshot of this process, and finds who holds the blocks of C's malloc that
// is returns true for. ctx bounds the wait for debug information. What cannot be done is an error.
func NativeHolders(ctx context.Context, is func(nativeheap.Block) bool) (_ *nativeholders.Result, err error) {
	Observing.Lock()
	defer Observing.Unlock()
	s, err := Capture(refscan.WithContext(ctx), refscan.WithoutSettling())
	if err != nil {
		return nil, err
	}
	defer s.Close()
	return s.NativeHolders(is)
}

// A NativeCut is what is cut to see which native blocks go with it: nodes of a folded report, or their
// objects where roots are like others.
type NativeCut struct {
	Nodes     map[CutNode]bool
	AsObjects bool
}

// A CutNode is a node of a folded report, with what tells its root from those of the same name.
type CutNode struct{ Path, Typ, Goroutine, CreatedAt string }

// NativeFreed takes a snapshot of this process, and finds the blocks of C's malloc that cutting something
// would leave without a reference. ctx bounds the wait for debug information. What cannot be done
// is an error, as it is without a C library.
func NativeFreed(ctx context.Context, cut *NativeCut) (sum nativeholders.Sum, err error) {
	if _, err = nativeheap.Take(); err != nil {
		return sum, err
	}
	Observing.Lock()
	defer Observing.Unlock()
	s, err := Capture(refscan.WithContext(ctx), refscan.WithoutSettling())
	if err != nil {
		return sum, err
	}
	defer s.Close()
	sum, err = nativeholders.FindFreed((*snapshot.Snapshot)(s.Snapshot), func(n *attribute.Node, path string) bool {
		r := n.Top().Root
		return cut.Nodes[CutNode{symbol.Unescape(path), naming.CleanType(n.Type), r.Goroutine, r.CreatedAt}]
	}, cut.AsObjects)
	return sum, public(err)
}

// NativeHolders is nativeholders.Find.
func (s Process) NativeHolders(is func(nativeheap.Block) bool) (*nativeholders.Result, error) {
	r, err := nativeholders.Find((*snapshot.Snapshot)(s.Snapshot), is)
	return r, public(err)
}

// A Native says who holds the blocks of C's malloc.
type Native struct {
	Found *nativeholders.Result
	// why Found is nil, or not all of it; what is there, is there
	Err error
}

// hasNative reports whether who holds native memory can be looked for. If not, it has said why.
func (o *Observation) hasNative() bool {
	_, err := nativeheap.Take() // knows all causes, which a frozen image does not show
	if err != nil && !errors.Is(err, nativeheap.ErrNone) {
		o.Native = &Native{Err: nativeUnknown(err)}
	}
	return err == nil
}

// readNative finds out who holds native memory.
func (o *Observation) readNative(s Frozen) {
	o.Native = &Native{}
	found, err := s.NativeHolders(func(nativeheap.Block) bool { return false })
	switch {
	case err != nil:
		o.Native.Err = nativeUnknown(err)
		return
	case found.Hidden > 0:
		o.Native.Err = nativeUnknown(errors.New(textfmt.CountNoun(found.Hidden, "block") + " of a mapping each could not be told from other memory"))
	case found.Unread != "":
		o.Native.Err = nativeUnknown(errors.New(found.Unread))
	}
	o.Native.Found = found
}

func nativeUnknown(err error) error {
	u := &refscan.UnavailableError{Cause: "who holds native memory cannot be told: " + err.Error(), Remedy: "leave out NativeMemory"}
	var known *nativeheap.UnknownError
	var other *refscan.UnavailableError
	switch {
	case errors.As(err, &known) && known.Remedy != "":
		u.Remedy = known.Remedy
	case errors.As(err, &other) && other.Remedy != "":
		u.Remedy = other.Remedy
	}
	return u
}
