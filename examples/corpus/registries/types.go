package registries

import (
	"fmt"
	"reflect"

	"example.com/corpus/app"
)

// newType returns a value of a type that nobody has made yet.
func newType() any {
	field := reflect.StructField{Name: fmt.Sprint("Field", app.Next()), Type: reflect.TypeFor[string]()}
	return reflect.New(reflect.StructOf([]reflect.StructField{field})).Elem().Interface()
}
