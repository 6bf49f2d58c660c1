package symbolize

import (
	"encoding/binary"
	"errors"
	"fmt"
	"path/filepath"
	"slices"

	"github.com/leakgate/leakgate/cmd/leakgate/internal/native/dump"
)

// ReadCore reads, from a core file of the process, the generated code that libraries registered,
// into s.Generated, and the build IDs of files, into the memory map. This is s.Maps, or else the
// profile's, or else that of the core itself. It is an error if the core is of another process.
func ReadCore(path string, s *Sources, ofProfile []*dump.Mapping) (notes []string, err error) {
	core, err := dump.OpenCore(path)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, core.Close()) }()
	maps := s.Maps
	if maps == nil {
		maps = ofProfile
	}
	if !slices.ContainsFunc(maps, (*dump.Mapping).IsFile) {
		maps = core.Maps()
		s.Maps = maps
	} else if err := sameProcess(maps, core.Maps()); err != nil {
		return nil, err
	}
	return append(notes, readRegistered(core.Read, core.Order, maps, s)...), nil
}

// ReadMemory reads, from the memory of a process, the generated code that libraries registered,
// into s.Generated. s.Maps is the memory map.
func ReadMemory(read func(addr, n uint64) ([]byte, error), order binary.ByteOrder, s *Sources) {
	readRegistered(read, order, s.Maps, s)
}

func readRegistered(read func(addr, n uint64) ([]byte, error), order binary.ByteOrder, maps []*dump.Mapping, s *Sources) (notes []string) {
	lists := 0
	for _, m := range firstOfFiles(maps) {
		address, err := descriptorIn(m, s)
		if err != nil {
			notes = append(notes, fmt.Sprintf("%s was not asked for generated code: %v", m.File, err))
		}
		if address == 0 {
			continue
		}
		lists++
		objects, err := registeredObjects(read, order, address)
		if err != nil {
			notes = append(notes, fmt.Sprintf("of %s: %v", m.File, err))
		}
		names := make([]string, len(objects))
		for i := range names {
			names[i] = fmt.Sprintf("object %d of %s", i+1, filepath.Base(m.File))
		}
		code := newGenerated(objects, names)
		notes = append(notes, code.Notes...)
		s.Generated = append(s.Generated, code)
	}
	if lists == 0 {
		notes = append(notes, "no file of the process has the symbol "+descriptorName+", so it registered no generated code for debuggers, or is stripped")
	}
	return notes
}

// sameProcess compares the addresses of the mapped files, which differ from process to process, and
// copies the build IDs of the core into maps.
func sameProcess(maps, ofCore []*dump.Mapping) error {
	same := 0
	for _, m := range maps {
		if !m.IsFile() {
			continue
		}
		if o := dump.FindMapping(ofCore, m.Start); o != nil && o.File == m.File {
			same++
			if m.BuildID == "" {
				m.BuildID = o.BuildID
			}
		}
	}
	if same == 0 {
		return errors.New("it is a core file of another process: none of the files lies where the memory map has it")
	}
	return nil
}

// firstOfFiles returns the first executable mapping of each file that has one.
func firstOfFiles(maps []*dump.Mapping) []*dump.Mapping {
	var out []*dump.Mapping
	for _, m := range maps {
		if !m.IsFile() {
			continue
		}
		i := slices.IndexFunc(out, func(o *dump.Mapping) bool { return o.File == m.File })
		if i < 0 {
			out = append(out, m)
		} else if m.Executable && !out[i].Executable {
			out[i] = m
		}
	}
	return slices.DeleteFunc(out, func(m *dump.Mapping) bool { return !m.Executable })
}

// descriptorIn returns the address, in the process, of a file's list of generated code; 0 if the
// file has none.
func descriptorIn(m *dump.Mapping, s *Sources) (uint64, error) {
	if m.Deleted && m.BuildID == "" {
		return 0, errRemoved
	}
	f, err := openELF(filepath.Join(s.Root, m.File), m.BuildID, s.DebugDirs)
	if err != nil {
		return 0, err
	}
	defer f.Close()
	value := f.SymbolAddress(descriptorName)
	if value == 0 {
		return 0, nil
	}
	bias, err := f.Bias(m)
	if err != nil {
		return 0, err
	}
	return value + bias, nil
}
