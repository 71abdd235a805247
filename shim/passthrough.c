// Pass-through stubs of the functions in passthrough.h.
//
// All parameters of these functions are integers or pointers and therefore
// travel in argument registers or 8-byte stack slots; a stub copies them as
// words without knowing what they mean. (The upper half of an int's register is
// undefined, and the callee doesn't look at it.)

#include "shim.h"

#define PARAMS_1 W a
#define PARAMS_2 PARAMS_1, W b
#define PARAMS_3 PARAMS_2, W c
#define PARAMS_4 PARAMS_3, W d
#define PARAMS_5 PARAMS_4, W e
#define PARAMS_6 PARAMS_5, W f
#define PARAMS_7 PARAMS_6, W g
#define PARAMS_8 PARAMS_7, W h
#define PARAMS_9 PARAMS_8, W i
#define PARAMS_10 PARAMS_9, W j

#define ARGS_1 a
#define ARGS_2 ARGS_1, b
#define ARGS_3 ARGS_2, c
#define ARGS_4 ARGS_3, d
#define ARGS_5 ARGS_4, e
#define ARGS_6 ARGS_5, f
#define ARGS_7 ARGS_6, g
#define ARGS_8 ARGS_7, h
#define ARGS_9 ARGS_8, i
#define ARGS_10 ARGS_9, j

#define WRAP(n, name)                                \
	int MPI_##name(PARAMS_##n)                       \
	{                                                \
		return BLOCKING(NATIVE(name)(ARGS_##n));     \
	}                                                \
	PROFILED(name);

#define WRAP_BOTH(n, name) \
	WRAP(n, name)          \
	WRAP(n, name##_c)

#define POLL(n, name)                                \
	int MPI_##name(PARAMS_##n)                       \
	{                                                \
		return POLLING(NATIVE(name)(ARGS_##n));      \
	}                                                \
	PROFILED(name);

#define START(n, name)                                  \
	int MPI_##name(PARAMS_##n)                          \
	{                                                   \
		return ASYNC(BLOCKING(NATIVE(name)(ARGS_##n))); \
	}                                                   \
	PROFILED(name);

#define START_BOTH(n, name) \
	START(n, name)          \
	START(n, name##_c)

#include "passthrough.h"
