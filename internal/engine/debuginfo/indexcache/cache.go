// Package indexcache keeps indexes of debug information between runs, in a folder that many
// processes use at once.
package indexcache

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sort"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/leakgate/leakgate/internal/engine/debuginfo/symindex"
	"github.com/leakgate/leakgate/internal/engine/remedy"
	"github.com/leakgate/leakgate/internal/envvar"
	"github.com/leakgate/leakgate/internal/filelock"
	"github.com/leakgate/leakgate/internal/wholefile"
)

const (
	// what all indexes together may take; the least recently used go first
	cacheBytes     = 1536 << 20
	touchInterval  = time.Hour // how exactly the cache knows what was used when
	indexSuffix    = ".index"
	lockName       = "twin.lock"
	cacheSubfolder = "debuginfo"
)

// Cache is a folder of index files, named by build ID and format version. Files appear by renaming
// and are read into memory as a whole, so readers need no lock. Files and a folder that another
// user owns or may write to are not trusted.
type Cache struct {
	dir   string
	limit int64
}

// Dir is the folder.
func (c *Cache) Dir() string { return c.dir }

// Open returns the cache in a folder: "" means the environment variable LEAKGATE_CACHE, or
// "leakgate" in os.UserCacheDir; "off" none. Where there is none, or it cannot be used, it returns
// nil, and a warning in the second case.
func Open(dir string) (*Cache, string) {
	dir, err := folder(dir)
	if err == nil && dir == "" {
		return nil, ""
	}
	if err == nil {
		dir = filepath.Join(dir, cacheSubfolder)
		err = os.MkdirAll(dir, 0o700)
	}
	if err == nil {
		err = trustedFolder(dir)
	}
	if err != nil {
		return nil, fmt.Sprintf("no cache for debug information, so every run reads it again: %v", err)
	}
	return &Cache{dir: dir, limit: cacheBytes}, ""
}

// ErrUntrusted is the error for a file or folder whose contents another user may have made.
var ErrUntrusted = errors.New("not trusted")

func trustedFolder(dir string) error {
	info, err := os.Stat(dir)
	if err != nil {
		return err
	}
	if others := writableByOthers(info); others != "" {
		return fmt.Errorf("the folder %s is %w: %s; remove it or take that right away, or set LEAKGATE_CACHE to a folder of your own",
			dir, ErrUntrusted, others)
	}
	return nil
}

func (c *Cache) file(buildID string) string {
	sum := sha256.Sum256([]byte(strconv.Itoa(symindex.Version) + " " + buildID))
	return filepath.Join(c.dir, hex.EncodeToString(sum[:16])+indexSuffix)
}

// loaded are the indexes that this process has read, by their files. Their memory is never given
// back, because strings from it live on in reports; a process has one or two.
var loaded = struct {
	sync.Mutex
	indexes map[string]*symindex.Index
}{indexes: make(map[string]*symindex.Index)}

// Forget makes Load read files again, as in a new process. It is for tests.
func Forget() {
	loaded.Lock()
	defer loaded.Unlock()
	clear(loaded.indexes)
}

// Load reads and checks the index of a program, unless this process did so before.
func (c *Cache) Load(buildID string) (*symindex.Index, error) {
	path := c.file(buildID)
	loaded.Lock()
	defer loaded.Unlock()
	if known := loaded.indexes[path]; known != nil {
		return known, nil
	}
	f, info, err := openPrivate(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	x, err := symindex.ReadFile(f, info.Size())
	if err != nil {
		return nil, err
	}
	if x.BuildID() != buildID {
		return nil, fmt.Errorf("%w: made for another program", symindex.ErrNotIndex)
	}
	loaded.indexes[path] = x
	if time.Since(info.ModTime()) > touchInterval {
		now := time.Now()
		_ = os.Chtimes(path, now, now) // a read-only cache keeps its order
	}
	return x, nil
}

// openPrivate opens a file that nobody else can have written. It waits for nothing, whatever is at
// the path.
func openPrivate(path string) (*os.File, fs.FileInfo, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|privateFlags, 0)
	if err != nil {
		if info, err := os.Lstat(path); err == nil && !info.Mode().IsRegular() {
			return nil, nil, fmt.Errorf("%w: %s is not a regular file", ErrUntrusted, path)
		}
		return nil, nil, err
	}
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = fmt.Errorf("%w: %s is not a regular file", ErrUntrusted, path)
	}
	if err == nil {
		if others := writableByOthers(info); others != "" {
			err = fmt.Errorf("%w: %s: %s", ErrUntrusted, path, others)
		}
	}
	if err != nil {
		_ = f.Close()
		return nil, nil, err
	}
	return f, info, nil
}

// Store writes an index file and then makes room.
func (c *Cache) Store(buildID string, x *symindex.Index) error {
	path := c.file(buildID)
	if err := wholefile.Write(path, 0o600, x.WriteFile); err != nil {
		if way := remedy.ForDisk(err, ""); way != "" {
			err = fmt.Errorf("%w (%s)", err, way)
		}
		return err
	}
	c.trim(filepath.Base(path))
	return nil
}

// Clean removes what killed processes left: temporary files and twins.
func (c *Cache) Clean() { filelock.RemoveUnclaimed(c.dir, wholefile.TemporaryMark) }

// trim removes the indexes that were not used for longest until the rest fits, and what killed
// processes left. It cannot fail: what is not removed now is removed another time.
func (c *Cache) trim(keep string) {
	c.Clean()
	dir, err := os.Open(c.dir)
	if err != nil {
		return
	}
	defer dir.Close()
	entries, err := dir.ReadDir(-1) // in any order: what was used when decides
	if err != nil {
		return
	}
	var (
		files []fs.FileInfo
		total int64
	)
	for _, e := range entries {
		if info, err := e.Info(); err == nil && strings.HasSuffix(e.Name(), indexSuffix) {
			files = append(files, info)
			total += info.Size()
		}
	}
	sort.Slice(files, func(i, j int) bool { return files[i].ModTime().Before(files[j].ModTime()) })
	for _, f := range files {
		if total <= c.limit {
			return
		}
		if f.Name() == keep {
			continue
		}
		if os.Remove(filepath.Join(c.dir, f.Name())) == nil {
			total -= f.Size()
		}
	}
}

// Lock waits until no other process builds a twin, for no longer than limit. Where the system or
// the folder has no locks it does not wait: then several may build the same, which is slow but not
// wrong.
func (c *Cache) Lock(ctx context.Context, limit time.Duration) (unlock func(), err error) {
	const pause = 20 * time.Millisecond
	f, err := os.OpenFile(filepath.Join(c.dir, lockName), os.O_RDWR|os.O_CREATE|privateFlags, 0o600)
	if err != nil {
		return func() {}, nil //nolint:nilerr // a folder that cannot be written has no lock; see above
	}
	for deadline := time.Now().Add(limit); ; {
		switch locked, err := filelock.Try(f); {
		case err != nil:
			return func() { _ = f.Close() }, nil //nolint:nilerr // no locks here; see above
		case locked:
			return func() { _ = f.Close() }, nil
		case time.Now().After(deadline):
			_ = f.Close()
			return nil, context.DeadlineExceeded
		}
		select {
		case <-ctx.Done():
			_ = f.Close()
			return nil, ctx.Err()
		case <-time.After(pause):
		}
	}
}

// folder is where indexes are kept; "" for nowhere.
func folder(dir string) (string, error) {
	if dir == "" {
		dir = envvar.Cache.Value()
	}
	switch {
	case dir == "off":
		return "", nil
	case dir != "":
		return filepath.Abs(dir)
	}
	base, err := os.UserCacheDir()
	if err != nil {
		return "", err
	}
	return filepath.Join(base, "leakgate"), nil
}
