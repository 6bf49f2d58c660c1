package observe

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/leakgate/leakgate/internal/engine/capture/snapshot"
	"github.com/leakgate/leakgate/internal/engine/graph/attribute"
	"github.com/leakgate/leakgate/internal/engine/native/nativeheap"
	"github.com/leakgate/leakgate/internal/engine/native/nativeholders"
	"github.com/leakgate/leakgate/internal/symbol"
	"github.com/leakgate/leakgate/leakcheck/internal/naming"
	"github.com/leakgate/leakgate/refscan"
)

// NativeHolders takes a snapshot of this process, and finds the holders of those blocks of C's
// malloc for which is returns true. ctx bounds the wait for debug information. What cannot be done
// is an error.
func NativeHolders(ctx context.Context, is func(nativeheap.Block) bool) (r *nativeholders.Result, err error) {
	err = InSnapshot(func(s Process) error {
		r, err = s.NativeHolders(is)
		return err
	}, refscan.WithContext(ctx), refscan.WithoutSettling(), snapshot.Foreign{})
	return r, err
}

// NativeFreed takes a snapshot of this process, and finds the blocks of C's malloc that cutting
// nodes would leave without a reference, as nativeholders.FindFreed does. keys are the
// naming.NodeKeys of the nodes. ctx bounds the wait for debug information. What cannot be done is
// an error, as is a program without a C library.
func NativeFreed(ctx context.Context, keys []string, asObjects bool) (sum nativeholders.Sum, err error) {
	if !nativeheap.Supported {
		return sum, nativeheap.ErrNone // an addition to messages that no option asks for: the caller ignores ErrNone
	}
	if _, err = nativeheap.Take(); err != nil {
		return sum, err
	}
	err = InSnapshot(func(s Process) error {
		sum, err = s.NativeFreed(keys, asObjects)
		return err
	}, refscan.WithContext(ctx), refscan.WithoutSettling(), snapshot.Foreign{})
	return sum, err
}

// NativeFreed calls nativeholders.FindFreed. keys are the naming.NodeKeys of nodes in a report with
// native blocks. A place without a node is cut if it lies below the path of a key, which is a
// variable then.
func (s Process) NativeFreed(keys []string, asObjects bool) (nativeholders.Sum, error) {
	wanted := make(map[string]bool)
	for _, k := range keys {
		wanted[k] = true
	}
	is := func(n *attribute.Node, path, typ string) bool {
		r := n.Top().Root
		return wanted[naming.NodeKey(symbol.Unescape(path), naming.CleanType(typ), r.Goroutine, r.CreatedAt)]
	}
	sum, err := nativeholders.FindFreed((*snapshot.Snapshot)(s.Snapshot), &nativeholders.Cut{
		Node: func(n *attribute.Node, path string) bool { return is(n, path, n.Type) },
		Place: func(p *nativeholders.Place, path string) bool {
			switch {
			case asObjects:
				return false
			case p.Node != nil && p.Label == "":
				return is(p.Node, symbol.JoinPath(path, whole), symbol.NativeBlock)
			case p.Node != nil:
				return is(p.Node, path, symbol.NativeBlock)
			}
			return slices.ContainsFunc(keys, func(key string) bool {
				path, below := strings.CutPrefix(path, naming.PathOfKey(key))
				return below && naming.AtBoundary(path, 0)
			})
		},
		AsObjects: asObjects,
	})
	return sum, public(err)
}

// NativeHolders calls nativeholders.Find.
func (s Process) NativeHolders(is func(nativeheap.Block) bool) (*nativeholders.Result, error) {
	r, err := nativeholders.Find((*snapshot.Snapshot)(s.Snapshot), is)
	return r, public(err)
}

// A Native has the holders of the blocks of C's malloc.
type Native struct {
	Found *nativeholders.Result
	// why Found is nil or incomplete; what Found has is right
	Err error
}

// readNative finds the holders of native memory. cannot is why native memory could not be counted
// before the snapshot, or nil: a frozen image does not show its causes.
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
	u := &refscan.UnavailableError{Cause: "who holds native memory cannot be told: " + strings.TrimPrefix(cannot.Error(), "refscan: "), Remedy: "leave out NativeMemory, or WithNative"}
	if known, ok := cannot.(*nativeheap.UnknownError); ok && known.Remedy != "" {
		u.Remedy = known.Remedy
	}
	o.Native.Err = u
}

var errPart = errors.New("not all memory could be read, or told from large blocks")

// mostCuts is how many nodes are cut one by one at most: each cut takes about three scans.
const mostCuts = 32 // the message of the error has the number, too

// readNative finds how much native memory each cut would free, in the snapshot of o.
func (c *Cut) readNative(s Frozen, o *Observation) {
	c.Native, c.Err = nil, nil
	if o.Native != nil && o.Native.Err != nil {
		c.Err = o.Native.Err
		return
	}
	keys, cuts := c.Keys(o.WithNative()), 0
	for atOnce := 1; len(keys) > 0 && c.Err == nil; keys = keys[atOnce:] {
		if c.Nodes != nil {
			atOnce = len(keys)
		}
		var sum nativeholders.Sum
		if keys[0] != "" {
			if cuts++; cuts > mostCuts {
				c.Err = &refscan.UnavailableError{
					Cause:  "what native memory goes with each of more than 32 paths takes too long to find",
					Remedy: "name fewer, or leave out WithNative",
				}
				return
			}
			sum, c.Err = s.NativeFreed(keys[:atOnce], c.Nodes != nil)
		}
		c.Native = append(c.Native, sum)
	}
}
