// A program that has LLVM generate code out of a script with line information; the code keeps
// memory. LLVM registers it for debuggers by itself. Then it dumps a heap profile of gperftools',
// and crashes, for the sake of a core file.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <llvm-c/Core.h>
#include <llvm-c/ExecutionEngine.h>
#include <llvm-c/IRReader.h>
#include <llvm-c/Target.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

static char *kept[100];

int main(int argc, char **argv) {
	LLVMMemoryBufferRef text;
	LLVMModuleRef module;
	LLVMExecutionEngineRef engine;
	char *problem = 0;
	LLVMLinkInMCJIT();
	LLVMInitializeNativeTarget();
	LLVMInitializeNativeAsmPrinter();
	if (LLVMCreateMemoryBufferWithContentsOfFile(argv[1], &text, &problem) ||
	    LLVMParseIRInContext(LLVMGetGlobalContext(), text, &module, &problem)) {
		fprintf(stderr, "%s\n", problem);
		return 2;
	}
	struct LLVMMCJITCompilerOptions options;
	LLVMInitializeMCJITCompilerOptions(&options, sizeof options);
	options.OptLevel = 0;
	options.NoFramePointerElim = 1;
	if (LLVMCreateMCJITCompilerForModule(&engine, module, &options, sizeof options, &problem)) {
		fprintf(stderr, "%s\n", problem);
		return 3;
	}
	char *(*run)(int64_t) = (char *(*)(int64_t))LLVMGetFunctionAddress(engine, "script_main");
	for (int i = 0; i < 100; i++)
		kept[i] = run(3000);
	void (*dump)(const char *) = (void (*)(const char *))dlsym(RTLD_DEFAULT, "HeapProfilerDump");
	if (!dump)
		return 4;
	dump("generated");
	abort();
}
