// A program that loads an object as generated code, registers it for debuggers (gdb's manual, "JIT
// Compilation Interface"), and has it keep memory. Then it dumps a heap profile of gperftools', and
// crashes, for the sake of a core file.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <elf.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

struct jit_code_entry {
	struct jit_code_entry *next_entry, *prev_entry;
	const char *symfile_addr;
	uint64_t symfile_size;
};
struct jit_descriptor {
	uint32_t version, action_flag;
	struct jit_code_entry *relevant_entry, *first_entry;
};
void __attribute__((noinline)) __jit_debug_register_code(void) { __asm__ volatile("" ::: "memory"); }
struct jit_descriptor __jit_debug_descriptor = {1, 0, 0, 0};

typedef char *script(void *(*)(unsigned long), unsigned long);

static char *read_file(const char *name, uint64_t *size) {
	FILE *f = fopen(name, "rb");
	if (!f)
		exit(2);
	char *b = malloc(1 << 20);
	*size = fread(b, 1, 1 << 20, f);
	fclose(f);
	return b;
}

// load gives each section with code an address, and returns that of a function.
static script *load(char *object, const char *name) {
	Elf64_Ehdr *head = (Elf64_Ehdr *)object;
	Elf64_Shdr *sections = (Elf64_Shdr *)(object + head->e_shoff);
	char *code = mmap(0, 1 << 16, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	uint64_t used = 0;
	script *found = 0;
	for (int i = 0; i < head->e_shnum; i++) {
		if (!(sections[i].sh_flags & SHF_EXECINSTR) || !sections[i].sh_size)
			continue;
		memcpy(code + used, object + sections[i].sh_offset, sections[i].sh_size);
		sections[i].sh_addr = (uint64_t)(code + used);
		used += (sections[i].sh_size + 63) & ~63ul;
	}
	for (int i = 0; i < head->e_shnum; i++) {
		if (sections[i].sh_type != SHT_SYMTAB)
			continue;
		char *names = object + sections[sections[i].sh_link].sh_offset;
		Elf64_Sym *symbols = (Elf64_Sym *)(object + sections[i].sh_offset);
		for (uint64_t k = 0; k < sections[i].sh_size / sizeof *symbols; k++)
			if (!strcmp(names + symbols[k].st_name, name))
				found = (script *)(sections[symbols[k].st_shndx].sh_addr + symbols[k].st_value);
	}
	return found;
}

static char *kept[100];

int main(int argc, char **argv) {
	struct jit_code_entry *entry = calloc(1, sizeof *entry);
	char *object = read_file(argv[1], &entry->symfile_size);
	entry->symfile_addr = object;
	script *run = load(object, "script_main");
	if (!run)
		return 3;
	__jit_debug_descriptor.first_entry = __jit_debug_descriptor.relevant_entry = entry;
	__jit_debug_descriptor.action_flag = 1;
	__jit_debug_register_code();
	for (int i = 0; i < 100; i++)
		kept[i] = run((void *(*)(unsigned long))malloc, 3000);
	void (*dump)(const char *) = (void (*)(const char *))dlsym(RTLD_DEFAULT, "HeapProfilerDump");
	if (!dump)
		return 4;
	dump("generated");
	abort();
}
