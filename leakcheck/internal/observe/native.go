package observe

import (
	"context"
	"errors"
	"strings"

	"github.com/leakgate/leakgate/internal/engine/attribute"
	"github.com/leakgate/leakgate/internal/engine/nativeheap"
	"github.com/leakgate/leakgate/internal/engine/nativeholders"
	"github.com/leakgate/leakgate/internal/engine/snapshot"
	"github.com/leakgate/leakgate/internal/symbol"
	"github.com/leakgate/leakgate/leakcheck/internal/naming"
	"github.com/leakgate/leakgate/refscan"
)

// NativeHolders takes a snapshot of this process, and finds who holds the blocks of C's malloc that
// is returns true for. ctx bounds the wait for debug information. What cannot be done is an error.
func NativeHolders(ctx context.Context, is func(nativeheap.Block) bool) (r *nativeholders.Result, err error) {
	err = inSnapshot(ctx, func(s Process) error {
		r, err = s.NativeHolders(is)
		return err
	})
	return r, err
}

// inSnapshot calls find with a snapshot of this process as it is.
func inSnapshot(ctx context.Context, find func(Process) error) error {
	Observing.Lock()
	defer Observing.Unlock()
	s, err := Capture(refscan.WithContext(ctx), refscan.WithoutSettling(), snapshot.Foreign{})
	if err == nil {
		err = find(s)
		_ = s.Close()
	}
	return err
}

// NodeKey is what tells a node of a folded report from others: its path and type, and of its root the
// goroutine and where that was made.
func NodeKey(path, typ, goroutine, createdAt string) string {
	return path + "\n" + typ + "\n" + goroutine + "\n" + createdAt
}

// NativeFreed takes a snapshot of this process, and finds the blocks of C's malloc that cutting nodes
// would leave without a reference, as nativeholders.FindFreed does; nodes are given by their keys.
// ctx bounds the wait for debug information. What cannot be done is an error, as it is without a C
// library.
func NativeFreed(ctx context.Context, nodes map[string]bool, asObjects bool) (sum nativeholders.Sum, err error) {
	if !nativeheap.Supported {
		return sum, nativeheap.ErrNone // nobody has asked for it
	}
	if _, err = nativeheap.Take(); err != nil {
		return sum, err
	}
	err = inSnapshot(ctx, func(s Process) error {
		sum, err = nativeholders.FindFreed((*snapshot.Snapshot)(s.Snapshot), func(n *attribute.Node, path string) bool {
			r := n.Top().Root
			return nodes[NodeKey(symbol.Unescape(path), naming.CleanType(n.Type), r.Goroutine, r.CreatedAt)]
		}, asObjects)
		return public(err)
	})
	return sum, err
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

// readNative finds out who holds native memory. cannot is why it could not be counted before, whose
// causes a frozen image does not show, or nil.
func (o *Observation) readNative(s Frozen, cannot error) {
	if cannot == nativeheap.ErrNone {
		return
	}
	o.Native = &Native{}
	if cannot == nil {
		o.Native.Found, cannot = s.NativeHolders(func(nativeheap.Block) bool { return false })
	}
	switch found := o.Native.Found; {
	case cannot != nil:
	case found.Hidden > 0 || found.Unread != "":
		cannot = errPart
	default:
		return
	}
	u := &refscan.UnavailableError{Cause: "who holds native memory cannot be told: " + strings.TrimPrefix(cannot.Error(), "refscan: "), Remedy: "leave out NativeMemory"}
	if known, ok := cannot.(*nativeheap.UnknownError); ok && known.Remedy != "" {
		u.Remedy = known.Remedy
	}
	o.Native.Err = u
}

var errPart = errors.New("not all memory could be read, or told from large blocks")
