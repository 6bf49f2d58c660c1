//go:build go1.26

package debuginfo

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/leakgate/leakgate/internal/engine/symbols/debuginfo/dwarfread"
	"github.com/leakgate/leakgate/internal/engine/symbols/debuginfo/symindex"
	"github.com/leakgate/leakgate/internal/engine/symbols/debuginfo/twin"
	"github.com/leakgate/leakgate/internal/testkit/assert"
	"github.com/leakgate/leakgate/internal/testkit/progtest"
	"github.com/leakgate/leakgate/internal/testkit/require"
)

// openProg opens the test program with a cache and returns what was logged.
func openProg(t *testing.T, cache string) (*Index, string) {
	t.Helper()
	var (
		mu  sync.Mutex
		log strings.Builder
	)
	x, err := Open(t.Context(), Options{
		File: progtest.Open(t, progtest.Build(t)), CacheDir: cache, NoTwin: true,
		Logf: func(format string, args ...any) {
			mu.Lock()
			defer mu.Unlock()
			log.WriteString(format)
		},
	})
	require.NoError(t, err)
	return x, log.String()
}

func indexFile(t *testing.T, cache string) string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(cache, "debuginfo", "*.index"))
	require.NoError(t, err)
	require.Len(t, files, 1)
	return files[0]
}

func TestOpenUsesCache(t *testing.T) {
	cache := t.TempDir()
	x, log := openProg(t, cache)
	assert.Equal(t, "own", x.Source())
	assert.Empty(t, log)
	own, err := os.ReadFile(indexFile(t, cache))
	require.NoError(t, err)
	for range 2 { // read from the file, then from memory
		x, log = openProg(t, cache)
		assert.Equal(t, "cache", x.Source())
		assert.Empty(t, x.Warnings())
		assert.Empty(t, log)
		checkProgTypes(t, x)
	}
	again, err := os.ReadFile(indexFile(t, cache))
	require.NoError(t, err)
	assert.True(t, bytes.Equal(own, again))
}

// TestOpenRepairsCache damages the cached index in every way that a disk, a killed process or
// another version might.
func TestOpenRepairsCache(t *testing.T) {
	cache := t.TempDir()
	openProg(t, cache)
	file := indexFile(t, cache)
	sound, err := os.ReadFile(file)
	require.NoError(t, err)
	damage := map[string][]byte{
		"empty":        {},
		"short":        sound[:20],
		"truncated":    sound[:len(sound)-1],
		"longer":       append(bytes.Clone(sound), 0),
		"other format": append([]byte("leakgate\xff"), sound[9:]...),
		"not an index": bytes.Repeat([]byte("x"), len(sound)),
		"changed":      append(append(bytes.Clone(sound[:len(sound)/2]), sound[len(sound)/2]^1), sound[len(sound)/2+1:]...),
	}
	for name, b := range damage {
		t.Run(name, func(t *testing.T) {
			symindex.ForgetLoaded()
			require.NoError(t, os.Remove(file))
			require.NoError(t, os.WriteFile(file, b, 0o600))
			x, log := openProg(t, cache)
			assert.Equal(t, "own", x.Source())
			assert.Contains(t, log, "rebuilt")
			assert.Empty(t, x.Warnings())
			repaired, err := os.ReadFile(file)
			require.NoError(t, err)
			assert.True(t, bytes.Equal(sound, repaired))
		})
	}
	t.Run("of another program", func(t *testing.T) {
		symindex.ForgetLoaded()
		f := progtest.Open(t, progtest.Build(t))
		other, err := dwarfread.Read(f)
		require.NoError(t, err)
		require.NoError(t, os.Remove(file))
		other.Identity = "other"
		var b bytes.Buffer
		require.NoError(t, symindex.New(other).WriteFile(&b))
		require.NoError(t, os.WriteFile(file, b.Bytes(), 0o600))
		x, log := openProg(t, cache)
		assert.Equal(t, "own", x.Source())
		assert.Contains(t, log, "rebuilt")
	})
}

// TestOneBuildID: programs that were linked with one build ID, as Bazel links all of them, have an
// index each.
func TestOneBuildID(t *testing.T) {
	const id = "-ldflags=-buildid=redacted"
	cache := t.TempDir()
	for _, source := range []string{"own", "cache"} {
		for _, flags := range [][]string{{id}, {id, "-gcflags=-N -l"}} {
			symindex.ForgetLoaded()
			f := progtest.Open(t, progtest.Build(t, flags...))
			assert.Equal(t, "redacted", f.BuildID)
			x, err := Open(t.Context(), Options{File: f, CacheDir: cache, NoTwin: true})
			require.NoError(t, err)
			assert.Equal(t, source, x.Source(), "%q", flags)
		}
	}
}

func TestOpenWithoutUsableCache(t *testing.T) {
	t.Run("off", func(t *testing.T) {
		t.Setenv("LEAKGATE_CACHE", "off")
		x, _ := openProg(t, "")
		assert.Equal(t, "own", x.Source())
		assert.Empty(t, x.Warnings())
	})
	t.Run("cannot be made", func(t *testing.T) {
		file := filepath.Join(t.TempDir(), "file")
		require.NoError(t, os.WriteFile(file, nil, 0o666))
		x, _ := openProg(t, filepath.Join(file, "cache"))
		assert.Equal(t, "own", x.Source())
		require.Len(t, x.Warnings(), 1)
		assert.Contains(t, x.Warnings()[0], "no cache for debug information")
	})
	t.Run("cannot be written", func(t *testing.T) {
		cache := t.TempDir()
		_, _ = openProg(t, cache)
		file := indexFile(t, cache)
		require.NoError(t, os.Remove(file))
		// A folder in the file's place stops even the superuser.
		require.NoError(t, os.MkdirAll(filepath.Join(file, "sub"), 0o777))
		symindex.ForgetLoaded()
		x, _ := openProg(t, cache)
		assert.Equal(t, "own", x.Source())
		require.Len(t, x.Warnings(), 2)
		assert.Contains(t, x.Warnings()[0], "is not a regular file")
		assert.Contains(t, x.Warnings()[1], "could not be kept")
		left, err := filepath.Glob(filepath.Join(cache, "debuginfo", "*tmp*"))
		require.NoError(t, err)
		assert.Empty(t, left)
	})
	t.Run("from the environment", func(t *testing.T) {
		dir := t.TempDir()
		t.Setenv("LEAKGATE_CACHE", dir)
		openProg(t, "")
		indexFile(t, dir)
	})
}

func TestOpenConcurrently(t *testing.T) {
	cache, path := t.TempDir(), progtest.Build(t)
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			symindex.ForgetLoaded()
			x, err := Open(context.Background(), Options{File: progtest.Open(t, path), CacheDir: cache, NoTwin: true})
			if assert.NoError(t, err) {
				_, ok := x.GlobalByName("main.root")
				assert.True(t, ok)
			}
		})
	}
	wg.Wait()
	indexFile(t, cache)
}

func TestCacheRemembersUse(t *testing.T) {
	dir := t.TempDir()
	openProg(t, dir)
	file := indexFile(t, dir)
	old := time.Now().Add(-2 * time.Hour)
	require.NoError(t, os.Chtimes(file, old, old))
	symindex.ForgetLoaded()
	openProg(t, dir)
	info, err := os.Stat(file)
	require.NoError(t, err)
	assert.Less(t, time.Since(info.ModTime()), time.Hour)
}

func TestOpenFails(t *testing.T) {
	unavailable := func(err error) *Unavailable {
		t.Helper()
		var u *Unavailable
		require.ErrorAs(t, err, &u)
		return u
	}
	open := func(path string) error {
		f, err := openProgram(path)
		require.Nil(t, f)
		return unavailable(err)
	}
	text := filepath.Join(t.TempDir(), "text")
	require.NoError(t, os.WriteFile(text, []byte("no program"), 0o666))
	assert.Contains(t, open(text).Error(), "not an ELF executable")
	assert.ErrorIs(t, open(filepath.Join(t.TempDir(), "missing")), os.ErrNotExist)
	assert.Contains(t, open(t.TempDir()).Error(), "not a regular file")
	stripped := progtest.Open(t, progtest.Build(t, "-ldflags=-s -w"))
	x, err := Open(t.Context(), Options{File: stripped, CacheDir: "off", NoTwin: true})
	require.Nil(t, x)
	u := unavailable(err)
	assert.Contains(t, u.Cause, "no debug information")
	assert.Contains(t, u.Remedy, "-ldflags='-s=0 -w=0'")
	_, err = Build(stripped)
	require.ErrorIs(t, err, dwarfread.ErrNoDWARF)
}

// A twin gives its debug information only if it is the same program.
func TestReadTwin(t *testing.T) {
	stripped, whole := progtest.Build(t, "-ldflags=-s -w"), progtest.Build(t)
	text := filepath.Join(t.TempDir(), "text")
	require.NoError(t, os.WriteFile(text, []byte("no program"), 0o666))
	damaged := filepath.Join(t.TempDir(), "damaged")
	b, err := os.ReadFile(whole)
	require.NoError(t, err)
	info := progtest.Open(t, whole).Section(".debug_info")
	copy(b[info.Offset:][:info.FileSize], bytes.Repeat([]byte{0xff}, 1000))
	require.NoError(t, os.WriteFile(damaged, b, 0o777))
	for name, c := range map[string]struct {
		program, twin string
		cause         string
	}{
		"the same":             {whole, whole, ""},
		"another":              {stripped, progtest.Build(t, "-gcflags=-N -l"), "the test has no debug information, and linking it again gave another program"},
		"also without":         {stripped, stripped, "the test has no debug information, and linking it again gave another program"},
		"damaged":              {whole, damaged, "the debug information of the twin cannot be read"},
		"no program":           {stripped, text, "the twin with debug information cannot be read"},
		"removed by something": {stripped, text + "2", "the twin with debug information cannot be read"},
	} {
		t.Run(name, func(t *testing.T) {
			o := opening{file: progtest.Open(t, c.program)}
			p, err := o.readTwin(t.Context(), func(_ context.Context, r twin.Request) (*twin.Twin, error) {
				assert.Equal(t, twin.Request{TempDir: os.TempDir(), BuildID: o.file.BuildID}, r)
				return &twin.Twin{Path: c.twin}, nil
			})
			if c.cause == "" {
				require.NoError(t, err)
				_, ok := symindex.New(p).GlobalByName("main.root")
				assert.True(t, ok)
				return
			}
			var u *Unavailable
			require.ErrorAs(t, err, &u)
			assert.Equal(t, c.cause, u.Cause)
			assert.NotNil(t, u.Err)
		})
	}
	o := opening{file: progtest.Open(t, stripped)}
	_, err = o.readTwin(t.Context(), func(context.Context, twin.Request) (*twin.Twin, error) { return nil, assert.AnError })
	require.ErrorIs(t, err, assert.AnError)
}
