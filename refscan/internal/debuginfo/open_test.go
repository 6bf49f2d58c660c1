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

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/leakgate/leakgate/internal/wholefile"
)

// openProg opens the test program with a cache and returns what was logged.
func openProg(t *testing.T, cache string) (*Index, string) {
	t.Helper()
	var (
		mu  sync.Mutex
		log strings.Builder
	)
	x, err := Open(t.Context(), Options{
		Executable: buildProg(t), CacheDir: cache, NoTwin: true,
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

// forgetMappings makes the next Open behave as in a new process.
func forgetMappings() {
	mappings.Lock()
	defer mappings.Unlock()
	clear(mappings.open)
}

func TestOpenUsesCache(t *testing.T) {
	cache := t.TempDir()
	x, log := openProg(t, cache)
	assert.Equal(t, "own", x.Source())
	assert.Empty(t, log)
	own, err := os.ReadFile(indexFile(t, cache))
	require.NoError(t, err)
	for range 2 { // mapped anew, and mapped already
		x, log = openProg(t, cache)
		assert.Equal(t, "cache", x.Source())
		assert.Empty(t, x.Warnings())
		assert.Empty(t, log)
		checkProgTypes(t, x)
		require.NoError(t, x.Close())
	}
	again, err := os.ReadFile(indexFile(t, cache))
	require.NoError(t, err)
	assert.True(t, bytes.Equal(own, again))
}

// TestOpenRepairsCache damages the cached index in every way that a disk, a killed process or another version might.
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
			forgetMappings()
			require.NoError(t, os.Remove(file))
			require.NoError(t, os.WriteFile(file, b, 0o666))
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
		forgetMappings()
		f, err := openELF(buildProg(t))
		require.NoError(t, err)
		defer f.Close()
		other, err := buildContents(f, identity{buildID: "other"})
		require.NoError(t, err)
		require.NoError(t, os.Remove(file))
		require.NoError(t, os.WriteFile(file, packFile(other), 0o666))
		x, log := openProg(t, cache)
		assert.Equal(t, "own", x.Source())
		assert.Contains(t, log, "rebuilt")
	})
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
		forgetMappings()
		x, _ := openProg(t, cache)
		assert.Equal(t, "own", x.Source())
		require.Len(t, x.Warnings(), 1)
		assert.Contains(t, x.Warnings()[0], "could not be kept")
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
	cache, path := t.TempDir(), buildProg(t)
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			forgetMappings()
			x, err := Open(context.Background(), Options{Executable: path, CacheDir: cache, NoTwin: true})
			if assert.NoError(t, err) {
				_, ok := x.GlobalByName("main.root")
				assert.True(t, ok)
			}
		})
	}
	wg.Wait()
	indexFile(t, cache)
}

func TestCacheIsBounded(t *testing.T) {
	c, warning := newCache(Options{CacheDir: t.TempDir()})
	require.Empty(t, warning)
	c.limit = 2500
	now := time.Now()
	for i, name := range []string{"old", "older", "new"} {
		require.NoError(t, c.store(name, make([]byte, 1000)))
		used := now.Add(-[]time.Duration{2, 3, 1}[i] * time.Minute)
		_ = os.Chtimes(c.file(name), used, used)
	}
	orphan, fresh := filepath.Join(c.dir, "x"+wholefile.TemporaryMark+"1"), filepath.Join(c.dir, "x"+wholefile.TemporaryMark+"2")
	require.NoError(t, os.Mkdir(orphan, 0o777))
	require.NoError(t, os.WriteFile(filepath.Join(orphan, "twin.test"), nil, 0o666))
	require.NoError(t, os.WriteFile(fresh, nil, 0o666))
	require.NoError(t, os.Chtimes(orphan, now.Add(-48*time.Hour), now.Add(-48*time.Hour)))
	require.NoError(t, c.store("newest", make([]byte, 1000)))
	for name, want := range map[string]bool{"older": false, "old": false, "new": true, "newest": true} {
		_, err := os.Stat(c.file(name))
		assert.Equal(t, want, err == nil, name)
	}
	assert.NoDirExists(t, orphan)
	assert.FileExists(t, fresh)
}

func TestCacheRemembersUse(t *testing.T) {
	dir := t.TempDir()
	openProg(t, dir)
	file := indexFile(t, dir)
	old := time.Now().Add(-2 * time.Hour)
	require.NoError(t, os.Chtimes(file, old, old))
	forgetMappings()
	openProg(t, dir)
	info, err := os.Stat(file)
	require.NoError(t, err)
	assert.Less(t, time.Since(info.ModTime()), time.Hour)
}

func TestCacheLock(t *testing.T) {
	c, warning := newCache(Options{CacheDir: t.TempDir()})
	require.Empty(t, warning)
	unlock, err := c.lock(t.Context(), time.Hour)
	require.NoError(t, err)
	_, err = c.lock(t.Context(), 50*time.Millisecond)
	require.ErrorIs(t, err, context.DeadlineExceeded)
	ctx, cancel := context.WithCancel(t.Context())
	time.AfterFunc(50*time.Millisecond, cancel)
	_, err = c.lock(ctx, time.Hour)
	require.ErrorIs(t, err, context.Canceled)
	unlock()
	unlock, err = c.lock(t.Context(), time.Hour)
	require.NoError(t, err)
	unlock()
}

func TestOpenFails(t *testing.T) {
	open := func(path string, noTwin bool) *Unavailable {
		x, err := Open(t.Context(), Options{Executable: path, CacheDir: "off", NoTwin: noTwin})
		require.Nil(t, x)
		var u *Unavailable
		require.ErrorAs(t, err, &u)
		return u
	}
	text := filepath.Join(t.TempDir(), "text")
	require.NoError(t, os.WriteFile(text, []byte("no program"), 0o666))
	assert.Contains(t, open(text, false).Error(), "not an ELF executable")
	assert.ErrorIs(t, open(filepath.Join(t.TempDir(), "missing"), false), os.ErrNotExist)
	assert.Contains(t, open(t.TempDir(), false).Error(), "not a regular file")
	stripped := buildProg(t, "-ldflags=-s -w")
	u := open(stripped, true)
	assert.Contains(t, u.Cause, "no debug information")
	assert.Contains(t, u.Remedy, "-ldflags='-s=0 -w=0'")
	_, err := Build(stripped)
	require.ErrorIs(t, err, errNoDWARF)
	_, err = Build(text)
	require.Error(t, err)
}

// TestSameProgram is the check that a twin has to pass, on programs that are not twins.
func TestSameProgram(t *testing.T) {
	same := func(a, b string) error {
		x, err := openELF(a)
		require.NoError(t, err)
		defer x.Close()
		y, err := openELF(b)
		require.NoError(t, err)
		defer y.Close()
		return sameProgram(x, y)
	}
	plain := buildProg(t)
	require.NoError(t, same(plain, plain))
	require.NoError(t, same(buildProg(t, "-ldflags=-s -w"), buildProg(t, "-ldflags=-f -f")))
	require.ErrorIs(t, same(plain, buildProg(t, "-gcflags=-N -l")), errDiffers)
	require.ErrorIs(t, same(plain, buildProg(t, "-ldflags=-X main.nothing=longer")), errDiffers)
	require.ErrorIs(t, same(buildProg(t, "-trimpath"), plain), errDiffers)
	if long() {
		require.ErrorIs(t, same(plain, buildProg(t, "GOTOOLCHAIN=go1.27.3")), errDiffers)
		require.NoError(t, same(buildProg(t, "GOARCH=arm64", "-ldflags=-s -w"), buildProg(t, "GOARCH=arm64", "-ldflags=-f -f")))
		require.ErrorIs(t, same(plain, buildProg(t, "GOARCH=arm64")), errDiffers)
	}

	// Equal in layout, and different in one place each.
	b, err := os.ReadFile(plain)
	require.NoError(t, err)
	f, err := parseELF(b)
	require.NoError(t, err)
	x, err := Build(plain)
	require.NoError(t, err)
	main := funcNamed(t, x, "main.frame")
	text, gopclntab := f.Section(".text"), f.Section(".gopclntab")
	data, noptr, module := f.Section(".data"), f.Section(".noptrdata"), f.Section(".go.module")
	for name, off := range map[string]uint64{
		"code":           text.Offset + main.Entry - text.Addr + 1,
		"function table": gopclntab.Offset + gopclntab.Size/2,
		"names":          gopclntab.Offset + 200,
		"variable":       data.Offset + 8,
		"noptr variable": noptr.Offset + noptr.Size/2,
		"module":         module.Offset + moduleData,
	} {
		t.Run(name, func(t *testing.T) {
			changed := bytes.Clone(b)
			changed[off] ^= 0x40
			path := filepath.Join(t.TempDir(), "changed")
			require.NoError(t, os.WriteFile(path, changed, 0o777))
			require.ErrorIs(t, same(plain, path), errDiffers)
		})
	}
}
