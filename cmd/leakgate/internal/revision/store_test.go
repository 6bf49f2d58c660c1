package revision

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// open opens the store of a repository in a cache of this test's own.
func open(t *testing.T, top string) *Store {
	t.Helper()
	s, err := OpenStore(&Revision{top: top})
	require.NoError(t, err)
	return s
}

// ownCache gives the test a user's cache directory, whatever the system calls it.
func ownCache(t *testing.T) {
	t.Helper()
	dir := t.TempDir()
	for _, name := range []string{"XDG_CACHE_HOME", "HOME", "LocalAppData"} {
		t.Setenv(name, dir)
	}
}

func TestStoreEntry(t *testing.T) {
	ownCache(t)
	s := open(t, "/repo")
	defer s.Close()
	e, err := s.Entry("commit", "flags")
	require.NoError(t, err)
	require.False(t, e.Found)
	half := filepath.Join(e.Dir, "half")
	require.NoError(t, os.WriteFile(half, nil, 0o666))

	// The first measurement was not completed, so its entry is emptied.
	e, err = s.Entry("commit", "flags")
	require.NoError(t, err)
	require.False(t, e.Found)
	require.NoFileExists(t, half)
	require.DirExists(t, e.Dir)
	whole := filepath.Join(e.Dir, "whole")
	require.NoError(t, os.WriteFile(whole, nil, 0o666))
	require.NoError(t, e.Keep())

	again, err := s.Entry("commit", "flags")
	require.NoError(t, err)
	require.Equal(t, &Entry{Dir: e.Dir, Found: true}, again)
	require.FileExists(t, whole)

	// Keys are compared as a list, not as one text.
	for _, keys := range [][]string{{"commitflags"}, {"commit", "flags", ""}, {"comm", "itflags"}, {"flags", "commit"}} {
		other, err := s.Entry(keys...)
		require.NoError(t, err)
		assert.False(t, other.Found, "%q", keys)
	}
}

func TestStoreOfARepository(t *testing.T) {
	ownCache(t)
	a := open(t, "/a")
	b := open(t, "/b") // does not wait for a, the store of another repository
	assert.NotEqual(t, a.Tree(), b.Tree())
	b.Close()
	place := a.Tree()

	opened := make(chan *Store)
	go func() {
		s, err := OpenStore(&Revision{top: "/a"})
		assert.NoError(t, err)
		opened <- s
	}()
	select {
	case <-opened:
		t.Error("two have the store at a time")
	case <-time.After(50 * time.Millisecond):
	}
	a.Close()
	again := <-opened
	assert.Equal(t, place, again.Tree(), "the go command's cache knows files by their place")
	again.Close()
}

func TestStoreMakesRoom(t *testing.T) {
	ownCache(t)
	s := open(t, "/repo")
	defer s.Close()
	begin := time.Now().Add(-time.Hour)
	measure := func(i int) {
		t.Helper()
		e, err := s.Entry(fmt.Sprint(i))
		require.NoError(t, err)
		require.False(t, e.Found)
		require.NoError(t, e.Keep())
		at := begin.Add(time.Duration(i) * time.Second)
		require.NoError(t, os.Chtimes(e.Dir, at, at))
	}
	for i := range maxEntries + 3 {
		measure(i)
	}
	entries, err := os.ReadDir(filepath.Join(s.dir, "measured"))
	require.NoError(t, err)
	assert.Len(t, entries, maxEntries)
	for i := 3; i < maxEntries+3; i++ {
		e, err := s.Entry(fmt.Sprint(i))
		require.NoError(t, err)
		assert.True(t, e.Found, "%d is not among the oldest", i)
	}
}

func TestOpenStoreFails(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	require.NoError(t, os.WriteFile(file, nil, 0o666))
	for _, name := range []string{"XDG_CACHE_HOME", "HOME", "LocalAppData"} {
		t.Setenv(name, file)
	}
	_, err := OpenStore(&Revision{top: "/repo"})
	assert.Error(t, err)
}
