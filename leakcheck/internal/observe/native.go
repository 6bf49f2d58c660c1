package observe

import (
	"context"

	"github.com/leakgate/leakgate/internal/engine/capture/snapshot"
	"github.com/leakgate/leakgate/leakcheck/internal/native"
	"github.com/leakgate/leakgate/refscan"
)

// NativeHolders takes a snapshot of this process, and finds the holders of those blocks of C's
// malloc for which is returns true. ctx bounds the wait for debug information. What cannot be done
// is an error.
func NativeHolders(ctx context.Context, is func(native.Block) bool) (r *native.Holders, err error) {
	err = InSnapshot(func(s Process) error {
		r, err = s.NativeHolders(is)
		return err
	}, refscan.WithContext(ctx), refscan.WithoutSettling(), snapshot.Foreign{})
	return r, err
}

// NativeFreed takes a snapshot of this process, and finds the blocks of C's malloc that cutting
// nodes would leave without a reference, as native.FindFreed does. keys are the naming.NodeKeys of
// the nodes. ctx bounds the wait for debug information. What cannot be done is an error, as is a
// program without a C library.
func NativeFreed(ctx context.Context, keys []string, asObjects bool) (sum native.Sum, err error) {
	if !native.Supported {
		return sum, nil // an addition to messages that no option asks for
	}
	if _, err = native.Take(); err != nil {
		return sum, err
	}
	err = InSnapshot(func(s Process) error {
		sum, err = s.NativeFreed(keys, asObjects)
		return err
	}, refscan.WithContext(ctx), refscan.WithoutSettling(), snapshot.Foreign{})
	return sum, err
}

// NativeFreed calls native.FindFreed.
func (s Process) NativeFreed(keys []string, asObjects bool) (native.Sum, error) {
	sum, err := native.FindFreed(s.Snapshot, keys, asObjects)
	return sum, public(err)
}

// NativeHolders calls native.FindHolders.
func (s Process) NativeHolders(is func(native.Block) bool) (*native.Holders, error) {
	r, err := native.FindHolders(s.Snapshot, is)
	return r, public(err)
}

// readNative finds the holders of native memory. cannot is why native memory could not be counted
// before the snapshot, or nil: a frozen image does not show its causes.
func (o *Observation) readNative(s Frozen, cannot error) {
	if native.IsNone(cannot) {
		return
	}
	var found *native.Holders
	if cannot == nil {
		found, cannot = s.NativeHolders(func(native.Block) bool { return false })
	}
	o.Native = native.NewAnswer(found, cannot)
}

// mostCuts is how many nodes are cut one by one at most: each cut takes about three scans.
const mostCuts = 32 // the message of the error has the number, too

// readNative finds how much native memory each cut would free, in the snapshot of o.
func (c *Cut) readNative(s Frozen, o *Observation) {
	c.Native, c.Err = nil, nil
	if o.Native != nil && o.Native.Err != nil {
		c.Err = o.Native.Err
		return
	}
	keys, cuts := c.Keys(o.Native.In(o.Report)), 0
	for atOnce := 1; len(keys) > 0 && c.Err == nil; keys = keys[atOnce:] {
		if c.Nodes != nil {
			atOnce = len(keys)
		}
		var sum native.Sum
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
