// Package symbolize gives the addresses in a profile of native memory the names of their functions.
// Programs and libraries have names in their symbols, whose sizes bound the functions, and in the
// DWARF of the file or its separate debug file. Generated code has them in the ELF objects that the
// program registered for debuggers, or in the map that it left for Linux's perf.
package symbolize

import (
	"cmp"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/google/pprof/profile"

	"github.com/leakgate/leakgate/cmd/leakgate/internal/native/dump"
)

// Sources are the sources of names, beside the mapped files.
type Sources struct {
	// Maps is the process's memory map, sorted; nil for that of the profile.
	Maps      []*dump.Mapping
	Generated []*Generated        // nil or empty: none was given
	PerfMap   *rangeTable[string] // nil: none was given
	Root      string              // folder below which the mapped files lie, "" for /
	DebugDirs []string            // with separate debug files
}

// A Module is a part of the result: about the addresses in one file, in one other mapping, or in no
// mapping.
type Module struct {
	Name             string
	Addresses, Named int
	// Names says where names come from, or why there are none.
	Names string
	// Unusable says that the file could not be used here. Another machine may have it.
	Unusable bool
}

// A Result says what was found.
type Result struct {
	Addresses, Named int // all of the profile, those that had a name before included
	Modules          []*Module
}

// Apply names the addresses of a profile that have no name yet, in place. An address without a
// symbol is named by its place in its mapping. No mappings are merged.
func Apply(f *dump.HeapProfile, s *Sources) (*Result, error) {
	a := &applier{
		sources: s, profile: f.Profile, maps: f.Maps, files: make(map[string]*file), modules: make(map[string]*Module),
		mappings: make(map[*dump.Mapping]*profile.Mapping), functions: make(map[profile.Function]*profile.Function),
	}
	defer a.close()
	a.chooseMaps(f)
	for _, fn := range f.Profile.Function {
		a.functions[withoutID(*fn)] = fn
	}
	for _, l := range f.Profile.Location {
		a.location(l)
	}
	a.finish()
	if err := f.Profile.CheckValid(); err != nil {
		return nil, fmt.Errorf("the named profile is damaged: %w", err)
	}
	return &a.result, nil
}

// An applier is the state of Apply.
type applier struct {
	sources   *Sources
	profile   *profile.Profile
	maps      []*dump.Mapping // sorted
	mappingOf map[*profile.Mapping]*dump.Mapping
	files     map[string]*file
	modules   map[string]*Module
	mappings  map[*dump.Mapping]*profile.Mapping
	functions map[profile.Function]*profile.Function
	result    Result
}

// A file is a mapped file, opened once, or the error of opening it.
type file struct {
	elf *elfFile
	err error
}

func (a *applier) close() {
	for _, f := range a.files {
		if f.elf != nil {
			f.elf.Close()
		}
	}
}

// chooseMaps chooses the memory map: that of the sources, or else the profile's, whose locations
// refer to their mappings.
func (a *applier) chooseMaps(f *dump.HeapProfile) {
	if a.sources.Maps != nil {
		a.maps = a.sources.Maps
		return
	}
	a.mappingOf = make(map[*profile.Mapping]*dump.Mapping)
	a.maps = slices.Clone(f.Maps)
	for i, m := range f.Profile.Mapping {
		a.mappingOf[m] = f.Maps[i]
		if m.File == "" && m.Start == 0 { // stands for all memory in a profile without a map
			a.maps = slices.DeleteFunc(a.maps, func(o *dump.Mapping) bool { return o == f.Maps[i] })
			a.mappingOf[m] = nil
		}
	}
	dump.SortMaps(a.maps)
}

// mapping returns the mapping that a location lies in, nil if it is unknown.
func (a *applier) mapping(l *profile.Location) *dump.Mapping {
	if m := a.mappingOf[l.Mapping]; m != nil {
		return m
	}
	return dump.FindMapping(a.maps, l.Address)
}

// location names one location.
func (a *applier) location(l *profile.Location) {
	m := a.mapping(l)
	module := a.module(m)
	l.Mapping = a.profileMapping(m)
	module.Addresses++
	a.result.Addresses++
	if len(l.Line) > 0 { // the location has names already
		module.Named++
		a.result.Named++
		return
	}
	frames := a.lookUp(module, m, l.Address)
	if len(frames) > 0 {
		module.Named++
		a.result.Named++
	} else {
		frames = []frame{{Name: a.place(m, l.Address)}}
	}
	for _, f := range frames {
		l.Line = append(l.Line, profile.Line{Function: a.function(f), Line: int64(f.Line)})
	}
}

// lookUp finds the functions at an address, the innermost first.
func (a *applier) lookUp(module *Module, m *dump.Mapping, addr uint64) []frame {
	var f *elfFile
	var bias uint64
	var err error
	if m != nil && m.IsFile() {
		f, bias, err = a.open(m)
	}
	a.explain(module, m, f, err)
	if f != nil && err == nil {
		if frames := f.Frames(addr - bias); len(frames) > 0 {
			return frames
		}
	}
	for _, code := range a.sources.Generated {
		if frames := code.Frames(addr); len(frames) > 0 {
			return frames
		}
	}
	if a.sources.PerfMap != nil {
		if name, ok := a.sources.PerfMap.At(addr); ok {
			return []frame{{Name: demangled(name), SystemName: name}}
		}
	}
	return nil
}

// errRemoved is the error for a file that was removed or replaced while the program ran.
var errRemoved = errors.New("the file was removed or replaced while the program ran, so what is there now is not what was mapped")

// fileKey distinguishes different files that had the same path.
func fileKey(m *dump.Mapping) string { return m.File + "\x00" + m.BuildID }

// open opens the file of a mapping, and returns the bias to subtract from addresses in the mapping.
func (a *applier) open(m *dump.Mapping) (*elfFile, uint64, error) {
	if m.Deleted && m.BuildID == "" {
		return nil, 0, errRemoved
	}
	f := a.files[fileKey(m)]
	if f == nil {
		f = new(file)
		f.elf, f.err = openELF(filepath.Join(a.sources.Root, m.File), m.BuildID, a.sources.DebugDirs)
		a.files[fileKey(m)] = f
	}
	if f.err != nil {
		return nil, 0, f.err
	}
	bias, err := f.elf.Bias(m)
	return f.elf, bias, err
}

// module returns the module of a mapping. All mappings of a file have one module.
func (a *applier) module(m *dump.Mapping) *Module {
	name := moduleName(m)
	module := a.modules[name]
	if module == nil {
		module = &Module{Name: name}
		a.modules[name] = module
		a.result.Modules = append(a.result.Modules, module)
	}
	return module
}

// explain sets where the names of a module come from, at the first lookup in the module.
func (a *applier) explain(module *Module, m *dump.Mapping, f *elfFile, err error) {
	switch {
	case err != nil: // an error of this mapping counts, even if the file's other mappings have none
		module.Names, module.Unusable = err.Error(), true
	case module.Names != "":
	case f != nil:
		module.Names = f.Sources()
	case m == nil && len(a.maps) == 0:
		module.Names = "there is no memory map: -maps names the process's /proc/PID/maps"
	case m == nil:
		module.Names = "nothing was mapped there when the memory map was written"
	case !m.Executable:
		module.Names = "memory without code: the allocator lost its way in the stack"
	case len(a.sources.Generated) == 0 && a.sources.PerfMap == nil:
		module.Names = "not of a file: -jit and -perf-map give generated code names"
	case len(a.sources.Generated) == 0:
		module.Names = "generated code, by the map of perf's"
	case a.sources.PerfMap == nil:
		module.Names = "generated code, by the registered objects"
	default:
		module.Names = "generated code, by the registered objects and the map of perf's"
	}
}

// noMapping is the name of the module of addresses in no mapping.
const noMapping = "[no mapping]"

// moduleName returns the name of a mapping in the profile. The name of anonymous memory includes
// its address: viewers merge mappings of equal size, offset and name.
func moduleName(m *dump.Mapping) string {
	switch {
	case m == nil:
		return noMapping
	case m.File == "":
		return fmt.Sprintf("[anonymous:%x]", m.Start)
	case m.IsFile() || m.File == "[vdso]" || m.File == "[vsyscall]":
		return m.File
	}
	return fmt.Sprintf("%s:%x", m.File, m.Start)
}

// place returns a stand-in for a missing name: the file and the address in it, as nm prints it, or
// the offset in the file if the file cannot be read.
func (a *applier) place(m *dump.Mapping, addr uint64) string {
	if m == nil {
		return fmt.Sprintf("%#x", addr)
	}
	if !m.IsFile() {
		return fmt.Sprintf("%s+%#x", moduleName(m), addr-m.Start)
	}
	if _, bias, err := a.open(m); err == nil {
		return fmt.Sprintf("%s+%#x", filepath.Base(m.File), addr-bias)
	}
	return fmt.Sprintf("%s+%#x", filepath.Base(m.File), addr-m.Start+m.Offset)
}

// profileMapping returns the profile's mapping that stands for m, a new one at the first call; nil
// for nil.
func (a *applier) profileMapping(m *dump.Mapping) *profile.Mapping {
	if m == nil {
		return nil
	}
	p := a.mappings[m]
	if p == nil {
		p = &profile.Mapping{Start: m.Start, Limit: m.End, Offset: m.Offset, File: moduleName(m), BuildID: m.BuildID}
		a.mappings[m] = p
	}
	return p
}

func withoutID(f profile.Function) profile.Function {
	f.ID = 0
	return f
}

// function returns the profile's function of a frame, a new one if the profile has none.
func (a *applier) function(f frame) *profile.Function {
	key := profile.Function{Name: f.Name, SystemName: cmp.Or(f.SystemName, f.Name), Filename: f.File, StartLine: int64(f.StartLine)}
	fn := a.functions[key]
	if fn == nil {
		fn = &key
		a.functions[withoutID(key)] = fn
		fn.ID = uint64(len(a.profile.Function) + 1)
		a.profile.Function = append(a.profile.Function, fn)
	}
	return fn
}

// finish lists the used mappings in the profile, that of the program first, as viewers expect.
func (a *applier) finish() {
	var all []*profile.Mapping
	for m, p := range a.mappings {
		// Viewers should not look up names again, and find those of neighbouring functions. Only
		// for a file that could not be used here they may: another machine may have it.
		known := !a.modules[p.File].Unusable
		p.HasFunctions, p.HasFilenames, p.HasLineNumbers, p.HasInlineFrames = known, known, known, known
		if f := a.files[fileKey(m)]; f != nil && f.err == nil && known {
			p.BuildID = f.elf.BuildID
		}
		all = append(all, p)
	}
	slices.SortFunc(all, func(x, y *profile.Mapping) int { return cmp.Compare(x.Start, y.Start) })
	if i := slices.IndexFunc(all, func(p *profile.Mapping) bool { return strings.HasPrefix(p.File, "/") }); i > 0 {
		program := all[i]
		all = slices.Insert(slices.Delete(all, i, i+1), 0, program)
	}
	for i, p := range all {
		p.ID = uint64(i + 1)
	}
	a.profile.Mapping = all
	for i, f := range a.profile.Function {
		f.ID = uint64(i + 1)
	}
	slices.SortStableFunc(a.result.Modules, func(x, y *Module) int { return cmp.Compare(y.Addresses, x.Addresses) })
}
