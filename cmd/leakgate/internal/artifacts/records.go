package artifacts

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"sort"
	"strings"

	"github.com/leakgate/leakgate/internal/verdict"
	"github.com/leakgate/leakgate/internal/wholefile"
)

// A Record is one assertion's record and where it lies.
type Record struct {
	Dir    string // slash path below the artifacts directory: "tests/example.com/app/TestX/1"
	Result verdict.Result
}

// Gather reads every record that test binaries left, sorted by package, test and number. Artifacts
// of a record become slash paths below the artifacts directory, which messages call shown. leakgate
// is the version that problems name. A problem is one sentence that names a file: a record that
// cannot be used, or an artifact that is named and missing. The other records are still read.
func (d *Dir) Gather(shown, leakgate string) (records []Record, problems []string) {
	err := filepath.WalkDir(d.Records(), func(file string, entry fs.DirEntry, err error) error {
		if err != nil {
			problems = append(problems, fmt.Sprintf("cannot read %s: %v", d.rel(file), err))
			return nil
		}
		if entry.Name() != verdict.FileName || !entry.Type().IsRegular() {
			return nil
		}
		r, err := d.readResult(d.rel(file), leakgate)
		if err != nil {
			problems = append(problems, fmt.Sprintf("record %s: %v", d.rel(file), err))
			return nil
		}
		dir := path.Dir(d.rel(file))
		problems = append(problems, d.resolve(dir, r.Artifacts)...)
		r.Message = d.Shorten(r.Message, shown)
		records = append(records, Record{dir, *r})
		return nil
	})
	if err != nil {
		problems = append(problems, err.Error())
	}
	sort.SliceStable(records, func(i, j int) bool {
		a, b := &records[i].Result, &records[j].Result
		if a.Package != b.Package {
			return a.Package < b.Package
		}
		if a.Test != b.Test {
			return a.Test < b.Test
		}
		return a.Seq < b.Seq
	})
	return records, problems
}

// Shorten replaces the absolute path of the artifacts directory in text by shown, the user's own
// name for it. Test binaries print the absolute path, since they run elsewhere; the shorter one is
// of use on another machine, too.
func (d *Dir) Shorten(text, shown string) string {
	sep := string(filepath.Separator)
	return strings.ReplaceAll(text, d.Path+sep, strings.TrimSuffix(shown, sep)+sep)
}

// Count returns how many records there are now.
func (d *Dir) Count() int {
	n := 0
	_ = filepath.WalkDir(d.Records(), func(_ string, entry fs.DirEntry, err error) error {
		if err == nil && entry.Name() == verdict.FileName {
			n++
		}
		return nil
	})
	return n
}

// readResult reads and checks the record in a file below d, for a leakgate of the given version.
func (d *Dir) readResult(file, leakgate string) (*verdict.Result, error) {
	data, err := Folder(d.Path).Read(file, wholefile.Most)
	if err != nil {
		return nil, err
	}
	var head struct {
		Schema  int    `json:"schema"`
		Library string `json:"library"`
	}
	if err := json.Unmarshal(data, &head); err != nil {
		return nil, err
	}
	if err := verdict.CheckSchema(head.Schema, head.Library, leakgate); err != nil {
		return nil, err
	}
	var r verdict.Result
	if err := json.Unmarshal(data, &r); err != nil {
		return nil, err
	}
	switch r.Verdict {
	case verdict.Pass, verdict.Fail, verdict.Unknown:
	default:
		return nil, fmt.Errorf("%q is not a verdict", r.Verdict)
	}
	if r.Package == "" || r.Test == "" {
		return nil, fmt.Errorf("it names no package or no test")
	}
	return &r, nil
}

// resolve makes slash paths of the artifacts of the record in dir, and drops missing files.
func (d *Dir) resolve(dir string, artifacts map[string]string) (problems []string) {
	for kind, name := range artifacts {
		local := path.Join(dir, filepath.ToSlash(name))
		info, err := os.Stat(filepath.Join(d.Path, filepath.FromSlash(local)))
		if !filepath.IsLocal(name) || err != nil || !info.Mode().IsRegular() {
			problems = append(problems, fmt.Sprintf("record %s: its artifact %s, %q, is not there", path.Join(dir, verdict.FileName), kind, name))
			delete(artifacts, kind)
			continue
		}
		artifacts[kind] = local
	}
	sort.Strings(problems)
	return problems
}

// rel is file as a slash path below the artifacts directory.
func (d *Dir) rel(file string) string {
	rel, err := filepath.Rel(d.Path, file)
	if err != nil {
		return filepath.ToSlash(file)
	}
	return filepath.ToSlash(rel)
}
