package ended

import (
	"context"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"
)

// counted is what was counted under a key.
func counted(key string) (t tally) {
	Each(func(k string, made, ended, nothing int64) {
		if k == key {
			t = tally{made, ended, nothing}
		}
	})
	return t
}

type client struct{ _ [16]byte }

func open(key string, fail bool) (c *client) {
	defer Made(key, &c)
	if fail {
		return nil
	}
	return new(client)
}

// An object counts once, however many functions hand it on and however often it is ended.
func TestObjects(t *testing.T) {
	Begin()
	c := open("Open", false)
	Made("Wrap", &c)
	Made("Open", &c)
	require.Equal(t, tally{1, 0, 0}, counted("Open"))
	Ended(c)
	Ended(c)
	require.Equal(t, tally{1, 1, 0}, counted("Open"))
	require.Equal(t, tally{1, 1, 0}, counted("Wrap"))
	open("Fail", true)
	require.Equal(t, tally{0, 0, 1}, counted("Fail"))
	runtime.KeepAlive(c)
}

func TestFunctions(t *testing.T) {
	Begin()
	calls := 0
	end := func() { calls++ }
	MadeFunc("Subscribe", &end)
	require.Equal(t, tally{1, 0, 0}, counted("Subscribe"))
	end()
	end()
	require.Equal(t, 2, calls)
	require.Equal(t, tally{1, 1, 0}, counted("Subscribe"))
	Did("Add")
	Did("Add")
	Undid("Add")
	require.Equal(t, tally{2, 1, 0}, counted("Add"))
}

// A context that never ends is not the caller's to end.
func TestContexts(t *testing.T) {
	Begin()
	Passed("Run#background", context.Background())
	require.Equal(t, tally{}, counted("Run#background"))
	ctx, cancel := context.WithCancel(context.Background())
	Passed("Run#ctx", ctx)
	require.Equal(t, tally{1, 0, 0}, counted("Run#ctx"))
	cancel()
	require.Equal(t, tally{1, 1, 0}, counted("Run#ctx"))
	runtime.KeepAlive(ctx)
}
