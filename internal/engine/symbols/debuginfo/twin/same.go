package twin

import (
	"errors"
	"fmt"

	"github.com/leakgate/leakgate/internal/engine/symbols/objfile"
)

// ErrDiffers is the reason why a twin's debug information cannot be used for a program.
var ErrDiffers = errors.New("it is not the same program")

// Check checks that the addresses in the twin's DWARF are right for the original: the same
// functions at the same places, with the same code, and the same variables at the same places.
//
// The two are not identical. The linker orders some type descriptors and function tables' data by
// what it has read so far, so symbols of equal size in read-only data trade places (measured on
// go1.26.8 and 1.27.3: some thousand bytes of .rodata or .go.type, some hundred of .gopclntab and
// .text, two of .data). Code and data that refer to those differ; nothing else may.
func Check(orig, twin *objfile.File) error {
	if err := sameVersion(orig, twin); err != nil {
		return err
	}
	if err := sameLayout(orig, twin); err != nil {
		return err
	}
	m, err := modulesOf(orig, twin)
	if err != nil {
		return err
	}
	for _, same := range []func() error{m.sameBounds, m.sameVariables, m.sameMasks, m.sameFunctions} {
		if err := same(); err != nil {
			return err
		}
	}
	return sameCode(orig, twin)
}

func sameVersion(orig, twin *objfile.File) error {
	a, errA := orig.GoVersion()
	b, errB := twin.GoVersion()
	if err := errors.Join(errA, errB); err != nil {
		return fmt.Errorf("%w: %w", ErrDiffers, err)
	}
	if a != b || orig.Format != twin.Format || orig.Machine != twin.Machine || orig.Type != twin.Type {
		return fmt.Errorf("%w: %s (%s, machine %#x, type %#x), and %s (%s, machine %#x, type %#x)", ErrDiffers,
			a, orig.Format, orig.Machine, orig.Type, b, twin.Format, twin.Machine, twin.Type)
	}
	return nil
}

// sameLayout compares addresses and sizes of all sections that the program has in memory.
func sameLayout(orig, twin *objfile.File) error {
	holds := objfile.Flags(0) // what kinds of sections were compared
	for _, a := range orig.Sections {
		if a.Flags&objfile.Loaded == 0 || a.Flags&objfile.ForLoader != 0 {
			continue
		}
		b := counterpart(twin, a)
		if b == nil {
			return fmt.Errorf("%w: the twin has no section %s", ErrDiffers, a.Name)
		}
		if a.Addr != b.Addr || a.Size != b.Size || a.Flags != b.Flags {
			return fmt.Errorf("%w: section %s is at %#x with %d bytes in one and at %#x with %d bytes in the other",
				ErrDiffers, a.Name, a.Addr, a.Size, b.Addr, b.Size)
		}
		holds |= a.Flags
	}
	const needed = objfile.Executable | objfile.ReadOnly | objfile.Variables
	if holds&needed != needed {
		return fmt.Errorf("%w: code, constants or variables have no section to compare", ErrDiffers)
	}
	return nil
}

// counterpart returns the section of the twin that corresponds to s: the section of the same name,
// and of the same address where several have that name. It is nil if there is none.
func counterpart(twin *objfile.File, s *objfile.Section) *objfile.Section {
	var named *objfile.Section
	for _, t := range twin.Sections {
		if t.Name == s.Name && (named == nil || t.Addr == s.Addr) {
			named = t
		}
	}
	return named
}
