package workspace

import (
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/leakgate/leakgate"
	"github.com/leakgate/leakgate/cmd/leakgate/internal/auto/repeat"
	"github.com/leakgate/leakgate/cmd/leakgate/internal/auto/repeat/ended"
	"github.com/leakgate/leakgate/internal/envvar"
	"github.com/leakgate/leakgate/internal/wholefile"
)

// modulePath is the module path of leakgate, which the library has, too.
const modulePath = "github.com/leakgate/leakgate"

// repeatPath is the import path that package repeat has in the library: below leakcheck, so that
// its memory counts as the tool's own.
const repeatPath = modulePath + "/leakcheck/repeat"

// endedPath is the import path of package ended in the library.
const endedPath = repeatPath + "/ended"

// A file of the library.
type file struct {
	name string // slash path in the module
	data []byte
}

// sources returns the files of the library: leakcheck, what it imports, and packages repeat and
// ended.
func sources() ([]file, error) {
	var files []file
	add := func(from embed.FS, below string) error {
		return fs.WalkDir(from, ".", func(name string, entry fs.DirEntry, err error) error {
			if err != nil || entry.IsDir() || strings.HasSuffix(name, "_test.go") {
				return err
			}
			data, err := from.ReadFile(name)
			files = append(files, file{below + name, data})
			return err
		})
	}
	err := errors.Join(add(leakgate.Sources, ""), add(repeat.Sources, "leakcheck/repeat/"), add(ended.Sources, "leakcheck/repeat/ended/"))
	slices.SortFunc(files, func(a, b file) int { return strings.Compare(a.name, b.name) })
	return files, err
}

// completeName is the file that says that all other files are there.
const completeName = ".complete"

// Library writes the module of leakcheck and package repeat to the user's cache, unless it is
// there, and returns its folder. The same sources always have the same folder name, so that the go
// command compiles them once.
func Library() (string, error) {
	files, err := sources()
	if err != nil {
		return "", fmt.Errorf("the sources of leakcheck: %w", err)
	}
	hash := sha256.New()
	for _, f := range files {
		fmt.Fprintf(hash, "%d %s %d ", len(f.name), f.name, len(f.data))
		hash.Write(f.data)
	}
	parent, err := cacheFolder()
	if err != nil {
		return "", err
	}
	dir := filepath.Join(parent, hex.EncodeToString(hash.Sum(nil)[:12]))
	if _, err := os.Stat(filepath.Join(dir, completeName)); err == nil {
		return dir, nil
	}
	// Two processes may do this at once. Files appear as a whole, with the same content from both.
	for _, f := range append(files, file{completeName, nil}) {
		name := filepath.Join(dir, filepath.FromSlash(f.name))
		if err := os.MkdirAll(filepath.Dir(name), 0o777); err != nil {
			return "", err
		}
		if err := wholefile.WriteData(name, 0o666, f.data); err != nil {
			return "", err
		}
	}
	removeOthers(parent, filepath.Base(dir))
	return dir, nil
}

// cacheFolder returns the folder with the libraries of all sources, and creates it.
func cacheFolder() (string, error) {
	dir := envvar.Cache.Value()
	if dir == "off" {
		dir = ""
	}
	if dir == "" {
		var err error
		if dir, err = os.UserCacheDir(); err != nil {
			dir = os.TempDir()
		}
		dir = filepath.Join(dir, "leakgate")
	}
	dir, err := filepath.Abs(filepath.Join(dir, "library"))
	if err != nil {
		return "", fmt.Errorf("the cache folder: %w", err)
	}
	return dir, os.MkdirAll(dir, 0o777)
}

// keep is the number of libraries of other versions of leakgate that stay.
const keep = 4

// removeOthers removes all libraries but current and the newest others. What cannot be removed
// stays.
func removeOthers(parent, current string) {
	entries, err := os.ReadDir(parent)
	if err != nil {
		return
	}
	type aged struct {
		name string
		at   int64
	}
	var old []aged
	for _, e := range entries {
		if info, err := e.Info(); err == nil && e.IsDir() && e.Name() != current {
			old = append(old, aged{e.Name(), info.ModTime().UnixNano()})
		}
	}
	slices.SortFunc(old, func(a, b aged) int { return int(b.at/1e9 - a.at/1e9) })
	for _, a := range old[min(keep, len(old)):] {
		_ = os.RemoveAll(filepath.Join(parent, a.name))
	}
}
