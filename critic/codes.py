"""Every error of rustc with what it is about.

Two tables and nothing else: for each code that `rustc --explain` knows, the root cause under
which it stands and the words that make its pattern slug (`E0308` → `e0308_type_mismatch`);
and for errors without a code, the same by the beginning of their message. Codes that rustc no
longer emits stay, since old logs hold them. A slug is stored with every claim and never
changes once released. Decides nothing and reads nothing.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from enum import StrEnum
from types import MappingProxyType


class RootCause(StrEnum):
    """What a failure is about; the closed set that claims and statistics speak in."""

    SYNTAX = "syntax"
    MACRO = "macro"
    IMPORT = "import"
    NAME = "name"
    VISIBILITY = "visibility"
    ATTRIBUTE = "attribute"
    FEATURE = "feature"
    TYPE = "type"
    GENERIC = "generic"
    TRAIT = "trait"
    PATTERN = "pattern"
    CONST = "const"
    ASYNC = "async"
    UNSAFE = "unsafe"
    BORROW = "borrow"
    LIFETIME = "lifetime"
    LINT = "lint"
    LINK = "link"
    COMPILER = "compiler"
    BUILD_SCRIPT = "build_script"
    MANIFEST = "manifest"
    DEPENDENCY = "dependency"
    TEST = "test"
    TIME = "time"
    OTHER = "other"


_TABLE = {
    RootCause.SYNTAX: """
        0045 variadic_outside_c_abi
        0067 invalid_left_side_of_compound_assignment
        0070 assignment_to_non_place
        0130 pattern_in_foreign_function
        0131 main_with_generics
        0136 several_main_functions
        0154 import_after_statement
        0178 ambiguous_plus_in_type
        0197 unsafe_inherent_impl
        0198 unsafe_negative_impl
        0267 break_inside_closure
        0268 break_outside_loop
        0379 const_trait_method
        0415 duplicate_parameter_name
        0561 pattern_in_function_pointer
        0568 auto_trait_with_supertrait
        0567 auto_trait_with_generics
        0571 break_with_value_outside_loop
        0572 return_outside_function
        0580 wrong_main_signature
        0584 dangling_doc_comment
        0585 doc_comment_documents_nothing
        0586 inclusive_range_without_end
        0590 unlabelled_break_in_while_condition
        0601 missing_main_function
        0627 yield_outside_coroutine
        0628 too_many_coroutine_parameters
        0642 pattern_in_trait_method
        0646 main_with_where_clause
        0647 start_with_where_clause
        0670 async_fn_in_edition_2015
        0695 unlabelled_break_in_labelled_block
        0696 misplaced_continue
        0697 static_closure
        0703 invalid_abi
        0704 incorrect_visibility_restriction
        0727 yield_in_async
        0743 misplaced_c_variadic
        0748 unterminated_raw_string
        0753 misplaced_inner_doc_comment
        0754 non_ascii_identifier
        0758 unterminated_block_comment
        0762 unterminated_char_literal
        0763 unterminated_byte_literal
        0765 unterminated_string
        0766 unterminated_byte_string
        0768 number_without_digits
        0783 dotdotdot_range_pattern
        0797 struct_update_without_base
    """,
    RootCause.MACRO: """
        0466 malformed_macro_import
        0468 macro_import_outside_root
        0469 imported_macro_not_found
        0536 malformed_not_cfg
        0537 unknown_cfg_predicate
        0660 malformed_llvm_asm
        0661 llvm_asm_invalid_output
        0662 llvm_asm_invalid_input
        0663 llvm_asm_invalid_operand
        0664 llvm_asm_braced_clobber
        0665 derive_default_without_variant
        0668 llvm_asm_rejected
        0669 llvm_asm_operand_not_a_value
        0773 duplicate_builtin_macro
        0774 derive_on_wrong_item
        0777 literal_in_derive
        0795 invalid_offset_of
        0802 invalid_coerce_pointee
    """,
    RootCause.IMPORT: """
        0251 import_name_clash
        0252 duplicate_import
        0253 not_importable
        0254 import_clashes_with_extern_crate
        0255 import_clashes_with_item
        0256 import_clashes_with_module
        0259 extern_crate_name_clash
        0260 item_clashes_with_extern_crate
        0429 self_import
        0430 duplicate_self_import
        0431 self_import_without_path
        0432 unresolved_import
        0433 unresolved_path
        0463 crate_not_found
        0583 module_file_not_found
        0659 ambiguous_name
        0761 two_module_files
        0780 inline_doc_of_anonymous_import
    """,
    RootCause.NAME: """
        0026 no_such_field_in_pattern
        0062 field_given_twice
        0063 missing_field
        0081 duplicate_discriminant
        0124 duplicate_field
        0128 forward_declared_parameter
        0137 several_main_attributes
        0138 several_start_functions
        0401 generic_of_outer_item
        0403 duplicate_generic_parameter
        0407 method_not_in_trait
        0411 self_type_outside_impl
        0412 unknown_type
        0422 unknown_struct
        0423 wrong_namespace_value
        0424 self_value_without_receiver
        0425 unresolved_name
        0426 undeclared_label
        0428 duplicate_definition
        0434 dynamic_environment_in_fn
        0437 associated_type_not_in_trait
        0438 associated_const_not_in_trait
        0530 binding_shadows_item
        0531 unknown_tuple_struct
        0559 no_such_variant_field
        0560 no_such_field_in_struct
        0573 not_a_type
        0574 not_a_struct
        0575 not_an_associated_item_path
        0576 associated_item_not_found
        0577 not_a_module
        0578 visibility_module_not_found
        0592 duplicate_method
        0599 no_such_method
        0609 no_such_field
        0767 unreachable_label
        0799 not_a_type_or_const_parameter
        0800 unknown_type_or_const_parameter
    """,
    RootCause.VISIBILITY: """
        0364 private_reexport
        0365 private_module_reexport
        0445 private_trait_in_public_bound
        0446 private_type_in_public_interface
        0447 pub_inside_function
        0448 pub_inside_enum
        0449 visibility_not_permitted
        0451 private_field_in_constructor
        0603 private_item
        0616 private_field
        0624 private_method
        0639 non_exhaustive_constructor
        0742 visibility_outside_ancestor
    """,
    RootCause.ATTRIBUTE: """
        0084 repr_on_empty_enum
        0092 unknown_atomic_intrinsic
        0093 unknown_intrinsic
        0094 intrinsic_wrong_generics
        0152 duplicate_lang_item
        0208 internal_variance_dump
        0230 rustc_on_unimplemented_misuse
        0231 rustc_on_unimplemented_parameter
        0232 rustc_on_unimplemented_malformed
        0264 unknown_lang_item
        0452 malformed_lint_attribute
        0453 lint_is_forbidden
        0497 stability_attribute_outside_std
        0498 malformed_plugin_attribute
        0517 repr_on_wrong_item
        0518 inline_on_wrong_item
        0522 unknown_lang_attribute
        0534 malformed_inline
        0535 unknown_inline_argument
        0538 duplicate_meta_item
        0539 malformed_meta_item
        0541 unknown_meta_item
        0542 stability_without_since
        0543 deprecation_without_note
        0544 several_stability_levels
        0545 stability_wrong_issue
        0546 stability_without_feature
        0547 stability_without_issue
        0549 deprecated_without_stability
        0550 several_deprecated_attributes
        0551 malformed_deprecated
        0552 unknown_repr
        0565 literal_in_attribute
        0566 conflicting_repr
        0587 packed_and_align
        0588 packed_contains_align
        0589 invalid_align_value
        0602 unknown_lint
        0622 intrinsic_not_a_function
        0633 malformed_unwind
        0634 conflicting_packed
        0640 internal_predicates_dump
        0648 export_name_with_nul
        0690 transparent_repr_needs_one_field
        0691 transparent_repr_zero_sized_field
        0692 transparent_repr_with_other_repr
        0693 malformed_align
        0701 misplaced_non_exhaustive
        0710 unknown_lint_tool
        0714 marker_trait_with_item
        0715 marker_trait_item_overridden
        0717 internal_allow_unstable
        0718 lang_item_on_wrong_item
        0722 malformed_optimize
        0724 misplaced_ffi_returns_twice
        0731 transparent_enum_needs_one_variant
        0734 stability_attribute_misplaced
        0736 naked_with_other_attribute
        0737 track_caller_needs_rust_abi
        0739 misplaced_track_caller
        0755 misplaced_ffi_pure
        0756 misplaced_ffi_const
        0757 ffi_pure_and_ffi_const
        0775 cmse_on_wrong_target
        0776 cmse_needs_c_abi
        0778 malformed_instruction_set
        0779 unknown_instruction_set
        0781 cmse_call_not_a_function_pointer
        0787 unsupported_naked_function
        0788 misplaced_coverage
        0789 internal_unstable_lang_misuse
        0798 cmse_signature_restricted
        0805 wrong_number_of_attribute_arguments
    """,
    RootCause.FEATURE: """
        0472 asm_not_supported_on_target
        0554 feature_on_stable
        0556 malformed_feature
        0557 removed_feature
        0570 abi_not_supported_on_target
        0635 unknown_feature
        0636 duplicate_feature
        0658 unstable_feature
        0705 feature_is_stable_in_edition
        0708 async_closure_with_parameters
        0711 inconsistent_feature_stability
        0725 feature_not_allowed
    """,
    RootCause.TYPE: """
        0029 range_pattern_of_wrong_type
        0040 explicit_destructor_call
        0054 cast_to_bool
        0055 autoderef_limit
        0057 wrong_number_of_closure_arguments
        0059 closure_trait_arguments_not_a_tuple
        0060 too_few_variadic_arguments
        0061 wrong_number_of_arguments
        0069 return_without_value
        0071 not_a_struct_literal_type
        0072 recursive_type_of_infinite_size
        0073 recursive_struct
        0074 simd_generic_field
        0075 simd_wrong_fields
        0076 simd_field_not_an_array
        0077 simd_field_not_a_machine_type
        0118 inherent_impl_on_wrong_type
        0121 placeholder_in_signature
        0139 transmute_of_generic_type
        0161 move_of_unsized_value
        0211 unfit_function_or_type
        0282 type_annotations_needed
        0283 ambiguous_type
        0284 ambiguous_associated_type
        0307 invalid_self_type
        0308 type_mismatch
        0317 if_without_else
        0320 drop_check_overflow
        0368 operator_assignment_not_supported
        0369 binary_operation_not_supported
        0370 enum_discriminant_overflow
        0374 coerce_unsized_without_unsized_field
        0375 coerce_unsized_several_fields
        0376 coerce_unsized_not_a_struct
        0377 coerce_unsized_different_structs
        0391 cyclic_type_dependency
        0436 functional_update_of_non_struct
        0512 transmute_size_mismatch
        0516 typeof_reserved
        0527 slice_pattern_wrong_length
        0528 slice_pattern_too_long
        0529 slice_pattern_on_other_type
        0591 transmute_of_function_item
        0593 closure_wrong_argument_count
        0600 unary_operation_not_supported
        0604 cast_to_char
        0605 invalid_cast
        0606 incompatible_cast
        0607 cast_thin_to_wide_pointer
        0608 not_indexable
        0610 field_of_primitive
        0614 dereference_of_non_pointer
        0615 method_taken_as_field
        0617 invalid_variadic_argument_type
        0618 call_of_non_function
        0619 type_must_be_known
        0620 cast_to_unsized
        0631 closure_argument_type_mismatch
        0641 cast_of_unknown_pointer_kind
        0644 closure_contains_itself
        0689 ambiguous_numeric_type
        0698 uninferred_type_in_coroutine
        0699 method_on_unknown_raw_pointer
        0720 recursive_opaque_type
        0730 pattern_on_array_without_length
        0732 discriminant_needs_repr
        0740 union_field_with_destructor
        0746 unboxed_trait_object_returned
        0784 union_expression_needs_one_field
        0791 linkage_static_of_wrong_type
    """,
    RootCause.GENERIC: """
        0044 generics_on_foreign_item
        0087 too_many_type_arguments
        0088 too_many_lifetime_arguments
        0089 too_few_type_arguments
        0090 too_few_lifetime_arguments
        0091 unused_parameter_in_alias
        0107 wrong_number_of_generic_arguments
        0109 unneeded_generic_argument
        0110 unneeded_lifetime_argument
        0132 start_with_generics
        0193 where_clause_without_generics
        0207 unconstrained_parameter
        0212 associated_type_of_uninferred_generics
        0214 parenthesised_generics
        0243 not_enough_type_parameters
        0244 too_many_type_parameters
        0392 unused_parameter
        0393 default_parameter_references_self
        0632 explicit_argument_for_impl_trait
        0643 impl_trait_against_parameter
        0666 nested_impl_trait
        0667 impl_trait_in_path
        0671 const_parameter_depends_on_type
        0735 default_parameter_uses_self
        0747 generic_arguments_out_of_order
        0770 const_parameter_type_depends_on_generic
        0792 alias_impl_trait_not_generic
        0794 late_bound_lifetime_argument
        0801 generic_self_type
    """,
    RootCause.TRAIT: """
        0033 dereferenced_trait_object
        0034 ambiguous_method
        0038 trait_not_dyn_compatible
        0046 missing_trait_items
        0049 trait_method_wrong_generics
        0050 trait_method_wrong_parameter_count
        0053 incompatible_trait_method
        0116 inherent_impl_on_foreign_type
        0117 orphan_rule
        0119 conflicting_implementations
        0120 drop_on_trait_object
        0183 manual_fn_trait
        0184 copy_with_drop
        0185 trait_method_without_self
        0186 trait_method_with_self
        0191 missing_associated_type
        0192 negative_impl
        0199 unsafe_impl_of_safe_trait
        0200 safe_impl_of_unsafe_trait
        0201 duplicate_associated_item
        0203 duplicate_relaxed_bound
        0204 copy_with_non_copy_field
        0205 copy_enum_with_non_copy_variant
        0206 copy_on_wrong_type
        0210 uncovered_type_parameter
        0220 associated_type_not_found
        0221 ambiguous_associated_type_in_bounds
        0222 constrained_ambiguous_associated_type
        0223 ambiguous_associated_type_path
        0224 trait_object_without_trait
        0225 trait_object_of_two_traits
        0229 misplaced_associated_item_constraint
        0271 associated_type_mismatch
        0275 requirement_overflow
        0276 stricter_impl_bounds
        0277 trait_bound_not_satisfied
        0281 trait_not_implemented
        0321 auto_trait_impl_on_wrong_type
        0322 builtin_trait_implemented
        0323 const_implements_other_item
        0324 method_implements_other_item
        0325 type_implements_other_item
        0326 associated_const_type_mismatch
        0328 unsize_implemented
        0329 associated_const_through_generic
        0366 specialised_drop
        0367 drop_with_extra_bounds
        0371 automatic_trait_implemented
        0378 invalid_dispatch_from_dyn
        0380 auto_trait_with_items
        0390 impl_on_primitive
        0399 overridden_type_without_method
        0404 not_a_trait
        0405 trait_not_in_scope
        0520 specialisation_of_non_default
        0525 closure_trait_mismatch
        0562 impl_trait_not_allowed
        0719 associated_item_given_twice
        0749 negative_impl_with_items
        0750 negative_default_impl
        0751 positive_and_negative_impl
        0782 missing_dyn
        0785 inherent_impl_on_dyn_auto_trait
        0790 trait_impl_must_be_named
        0804 auto_trait_added_by_cast
        0806 externally_implementable_item_mismatch
    """,
    RootCause.PATTERN: """
        0001 unreachable_arm
        0002 empty_match
        0004 non_exhaustive_match
        0005 refutable_pattern
        0007 move_binding_with_subpattern
        0009 mixed_binding_modes
        0023 wrong_number_of_pattern_fields
        0025 field_bound_twice
        0027 pattern_misses_fields
        0030 empty_range_pattern
        0158 generic_in_pattern
        0162 irrefutable_if_let
        0164 not_a_tuple_pattern
        0165 irrefutable_while_let
        0170 binding_named_like_variant
        0297 refutable_for_pattern
        0301 mutable_borrow_in_guard
        0302 assignment_in_guard
        0303 subbinding_after_at
        0408 inconsistent_or_pattern
        0409 inconsistent_or_pattern_modes
        0416 identifier_bound_twice
        0510 matched_value_assigned_in_guard
        0532 wrong_pattern_kind
        0533 not_a_pattern
        0579 empty_exclusive_range_pattern
        0638 non_exhaustive_type_pattern
        0769 tuple_pattern_with_braces
    """,
    RootCause.CONST: """
        0010 heap_allocation_in_const
        0013 const_refers_to_static
        0014 non_constant_initialiser
        0015 non_const_call_in_const
        0080 const_evaluation_failed
        0435 non_constant_value_in_const
        0439 simd_shuffle_without_length
        0492 const_borrow_of_interior_mutability
        0493 destructor_in_const
        0511 invalid_intrinsic_monomorphisation
        0625 const_refers_to_thread_local
        0741 const_parameter_not_structural
        0744 unsupported_expression_in_const
        0764 mutable_reference_in_const
    """,
    RootCause.ASYNC: """
        0706 async_fn_in_trait
        0728 await_outside_async
        0733 async_recursion
        0752 async_main
    """,
    RootCause.UNSAFE: """
        0133 unsafe_needed
        0569 may_dangle_impl_must_be_unsafe
        0793 reference_to_packed_field
        0796 reference_to_mutable_static
    """,
    RootCause.BORROW: """
        0381 use_of_uninitialised
        0382 use_after_move
        0383 partial_reinitialisation
        0384 assigned_twice
        0386 mutation_in_immutable_container
        0387 mutation_of_captured
        0388 mutation_of_static
        0389 mutation_through_shared_reference
        0499 two_mutable_borrows
        0500 closure_borrow_conflict
        0501 use_while_captured_mutably
        0502 borrow_conflict
        0503 use_while_mutably_borrowed
        0504 move_of_borrowed_into_closure
        0505 move_while_borrowed
        0506 assignment_while_borrowed
        0507 move_out_of_borrow
        0508 move_out_of_array
        0509 move_out_of_drop_type
        0524 unique_capture_conflict
        0594 assignment_to_immutable
        0595 closure_mutates_immutable
        0596 mutable_borrow_of_immutable
        0626 borrow_across_yield
        0713 borrow_past_drop
        0729 borrow_checker_migration
    """,
    RootCause.LIFETIME: """
        0106 missing_lifetime_specifier
        0195 lifetimes_differ_from_trait
        0226 several_lifetime_bounds
        0227 ambiguous_lifetime_bound
        0228 lifetime_bound_not_deduced
        0261 undeclared_lifetime
        0262 invalid_lifetime_name
        0263 duplicate_lifetime
        0309 parameter_may_not_live_long_enough
        0310 parameter_needs_static
        0311 parameter_needs_elided_bound
        0312 reference_lifetime_mismatch
        0316 nested_lifetime_quantification
        0373 closure_may_outlive
        0398 default_object_bound_changed
        0476 coerced_type_does_not_outlive
        0477 type_lifetime_not_fulfilled
        0478 lifetime_bound_not_satisfied
        0482 returned_value_does_not_outlive
        0491 reference_outlives_data
        0495 lifetime_not_determined
        0496 shadowed_lifetime
        0515 reference_to_local_returned
        0521 borrowed_data_escapes
        0581 lifetime_only_in_return_type
        0582 lifetime_only_in_binding
        0597 does_not_live_long_enough
        0621 explicit_lifetime_required
        0623 lifetime_mismatch
        0637 elided_lifetime_not_allowed
        0657 captured_higher_ranked_lifetime
        0687 in_band_lifetime_in_fn_syntax
        0688 in_band_and_explicit_lifetimes
        0700 opaque_type_captures_lifetime
        0712 thread_local_borrow_outlives
        0716 temporary_dropped_while_borrowed
        0726 implicit_lifetime_not_allowed
        0745 address_of_temporary
        0759 needs_static_lifetime
        0760 async_return_references_lifetime
        0771 lifetime_in_const_generic
        0772 trait_object_needs_static
        0803 trait_lifetime_mismatch
    """,
    RootCause.LINK: """
        0454 empty_link_name
        0455 link_kind_not_supported
        0457 plugin_only_as_rlib
        0458 unknown_link_kind
        0459 link_without_name
        0460 crate_is_newer
        0461 crate_of_other_target
        0462 staticlib_instead_of_rlib
        0464 several_candidates_for_crate
        0514 crate_of_other_rustc
        0519 crate_indistinguishable
        0523 several_libraries_for_crate
        0786 invalid_crate_metadata
    """,
}


def _read(table: Mapping[RootCause, str]) -> Mapping[str, tuple[str, RootCause]]:
    """`E0308` → (`e0308_type_mismatch`, type). A code that stands twice is an error."""
    known: dict[str, tuple[str, RootCause]] = {}
    for cause, lines in table.items():
        for line in lines.split("\n"):
            if not line.strip():
                continue
            number, words = line.split()
            if f"E{number}" in known:
                raise ValueError(f"E{number} stands twice in the table of error codes")
            known[f"E{number}"] = (f"e{number}_{words}", cause)
    return MappingProxyType(known)


CODES: Mapping[str, tuple[str, RootCause]] = _read(_TABLE)
"""Each known error code with its pattern slug and its root cause."""


_SENTENCES = {
    RootCause.COMPILER: (
        ("internal_compiler_error", r"(internal compiler error|the compiler unexp)"),
    ),
    RootCause.MACRO: (
        ("unresolved_macro", r"cannot (find|determine resolution for the) (\w+ )?macro"),
        ("unresolved_attribute", r"cannot find attribute"),
        ("macro_no_rule_matches", r"no rules expected|unexpected end of macro invocation"),
        ("macro_ambiguous", r"local ambiguity when calling macro"),
        ("macro_recursion_limit", r"recursion limit reached while expanding"),
        (
            "macro_variable",
            r"(unknown macro variable|meta-variable|variable `.*` is still repeating)",
        ),
        ("macro_variable", r"(attempted to repeat an expression|missing fragment specifier)"),
        ("macro_leftover", r"macro expansion ignores"),
        ("proc_macro_panicked", r"(proc[- ]macro .*panicked|custom attribute panicked)"),
        ("proc_macro_misused", r"can't use a procedural macro from the same crate"),
        ("format_argument_count", r"\d+ positional arguments? in format string"),
        ("format_argument_count", r"(invalid reference to positional|no arguments were given)"),
        ("format_argument_unused", r"(multiple unused formatting|(named )?argument never used)"),
        ("format_argument_missing", r"(there is no argument named|cannot find value .* in format)"),
        (
            "format_string_invalid",
            r"(invalid format string|format argument must be|unknown format)",
        ),
        ("macro_arguments", r"(\S+! takes|requires at least a format string|expected \w+ literal)"),
        ("environment_variable_missing", r"environment variable `.*` not defined at compile"),
        ("unreadable_file", r"couldn't read `"),
    ),
    RootCause.LIFETIME: (
        ("lifetime_may_not_live_long_enough", r"lifetime may not live long enough"),
        ("captured_reference_escapes", r"(captured variable cannot escape|async closure does not)"),
        ("higher_ranked_lifetime", r"higher-ranked (lifetime|subtype) error"),
        ("implementation_not_general_enough", r"implementation of `.*` is not general enough"),
    ),
    RootCause.TRAIT: (
        ("not_send_between_threads", r"(future|coroutine) cannot be (sent|shared) between threads"),
    ),
    RootCause.CONST: (
        ("generic_in_const", r"(generic (parameters|`Self` types) .*(const|anonymous constant))"),
        ("generic_in_const", r"(unconstrained generic constant|overly complex generic constant)"),
        ("constant_evaluation", r"(constant evaluation|evaluation of (constant|static|`))"),
    ),
    RootCause.TYPE: (
        ("instantiation_limit", r"(reached the (recursion|type-length) limit|queries overflow)"),
        ("type_too_big", r"values of the type `.*` are too big"),
        ("type_annotations_needed", r"type annotations needed"),
    ),
    RootCause.LINK: (
        ("linker_not_found", r"(linker `.*` not found|could not exec the linker)"),
        ("link_failed", r"linking with `.*` failed"),
        ("symbol_defined_twice", r"symbol `.*` is already defined"),
        ("native_library_not_found", r"could not find native static library"),
        ("crate_file_missing", r"extern location for .* does not exist"),
    ),
    RootCause.ATTRIBUTE: (
        ("missing_panic_handler", r"`#\[panic_handler\]` function required"),
        ("missing_allocator", r"no global memory allocator found"),
        ("unwinding_without_std", r"unwinding panics are not supported without std"),
        (
            "malformed_attribute",
            r"(malformed `\S+` attribute|`#\[.*\]` attribute|unused attribute)",
        ),
        ("derive_misused", r"(`derive`|traits in `#\[derive)"),
    ),
    RootCause.UNSAFE: (
        ("invalid_assembly", r"(invalid instruction|invalid operand|unknown directive|asm )"),
        ("extern_block_not_unsafe", r"extern blocks must be unsafe"),
    ),
    RootCause.FEATURE: (
        ("edition_too_old", r".*(only allowed|is not permitted|requires) .*Rust 20"),
    ),
    RootCause.SYNTAX: (
        ("unclosed_delimiter", r"this file contains an unclosed delimiter"),
        ("mismatched_delimiter", r"(mismatched|unexpected|incorrect) clos(e|ing) delimiter"),
        ("unknown_token", r"unknown start of token"),
        ("unknown_literal_prefix", r"prefix `.*` is unknown"),
        ("invalid_literal", r"(invalid .* for .*literal|unknown character escape|invalid suffix)"),
        ("invalid_literal", r"(integer literal is too large|character (literal|constant) )"),
        (
            "invalid_literal",
            r"((numeric|hex|unicode|byte|incorrect unicode|out of range) .*escape)",
        ),
        ("chained_comparison", r"comparison operators cannot be chained"),
        ("missing_block", r"(this `\w+` expression is missing|missing condition for `)"),
        ("struct_literal_in_condition", r"struct literals are not allowed here"),
        (
            "pattern_syntax",
            r"(unexpected .* in pattern|expected a pattern|.*pattern .*not allowed)",
        ),
        ("wrong_operator", r"(`.*` is not a (logical|valid) operator|invalid comparison operator)"),
        ("wrong_operator", r"(Rust has no (postfix|prefix)|leading `\+` is not supported)"),
        ("misplaced_let", r"(expected expression, found `let`|invalid `?let|`let\.\.\.else`)"),
        ("misplaced_cast", r"cast cannot be followed by"),
        ("reserved_identifier", r"expected identifier, found"),
        ("unexpected_keyword", r"expected .*, found (reserved )?keyword"),
        ("unexpected_token", r"(expected .*|unexpected .*)"),
        ("missing_token", r"missing (`|(?!doc)\w+ (for|in|to)|parameters|type|fragment)"),
        ("item_without_body", r"(free|associated) \w+ .*without body"),
        ("misplaced_visibility", r"visibility `.*` is not followed by an item"),
        ("misplaced_comment", r"(expected outer doc comment|documentation comments cannot)"),
        (
            "misplaced_attribute",
            r"(an inner attribute|attributes? (on|without|before)|outer attrib)",
        ),
        ("contradictory_qualifiers", r"functions cannot be both"),
    ),
}

SENTENCES = tuple(
    (slug, re.compile(sentence), cause)
    for cause, pairs in _SENTENCES.items()
    for slug, sentence in pairs
)
"""rustc's errors without a code, by the beginning of their message; the first that fits counts."""
